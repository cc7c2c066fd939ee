"""ABC: accelerate or brake, Goyal, Agarwal, Netravali, Alizadeh and Balakrishnan, 2020 [goyal20]; 2017 [goyal17]."""
