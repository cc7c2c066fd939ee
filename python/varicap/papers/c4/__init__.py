"""The tests of draft-huitema-ccwg-c4-test with their bounds, taken by controls that varicap has."""
