# docker build --tag varicap .
# docker run --rm --volume "$PWD:/work" varicap run examples/lte.toml -o out
# Without the laboratory in a browser, which is served to the machine that runs it, and that is the container.
# The kernel engine sets parameters of its own network namespaces below /proc/sys: give it --privileged.
# Images by their digests: what a tag stands for tomorrow is not what was tried.
FROM rust:1.97.0-slim-bookworm@sha256:6d220bf85c74e842a79da63997af8d2e74455c0b8847d8bb3a5888572334991d AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev libelf-dev make pkg-config python3-venv zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /varicap
COPY tools/requirements.txt tools/
RUN python3 -m venv /tools && /tools/bin/pip install --no-cache-dir --require-hashes -r tools/requirements.txt
COPY . .
RUN /tools/bin/maturin build --release --locked --strip --auditwheel skip --features varicap-py/bpf --out dist

FROM debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libelf1 python3-venv zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /varicap/dist /dist
RUN python3 -m venv /opt/varicap \
    && /opt/varicap/bin/pip install --no-cache-dir "varicap[plot,fit,design] @ file://$(ls /dist/*.whl)" \
    && rm -r /dist
ENV PATH=/opt/varicap/bin:$PATH
WORKDIR /work
ENTRYPOINT ["varicap"]
CMD ["--help"]
