# The image of commentsvc: Debian's Python, the program, the libraries that both need, and nothing
# else: no shell, no package manager. It runs as the user 10001 with a read-only root file system and
# one volume, /data.
#
#   docker build -t commentsvc .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges \
#       --memory 512m --pids-limit 100 \
#       -p 127.0.0.1:8080:8080 -v comments:/data commentsvc
#
# config/compose.yml runs it behind a proxy with TLS; docs/installing.md has more.
#
# If packages come from a mirror of your own, pass its settings as secrets, which are not stored in the
# image: --secret id=apt,src=APT.CONF --secret id=pip,src=PIP.CONF --secret id=ca,src=CA.PEM
#
# The base image is pinned by its digest, so that nobody can replace it, and updated with apt. To use
# another Debian 13: --build-arg BASE=debian:trixie-slim
#
# With --build-arg LOCK=postgres the image has the driver for PostgreSQL, too; with LOCK=full, also
# what pictures in comments need. --build-arg VERSION=$(sh config/version.sh) tells the program its
# version, since git is not in the image.
ARG BASE=debian:trixie-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

FROM ${BASE} AS build
ARG LOCK=runtime
RUN --mount=type=secret,id=apt,target=/etc/apt/apt.conf.d/99build \
    --mount=type=secret,id=ca,target=/run/ca.pem \
    export DEBIAN_FRONTEND=noninteractive && \
    apt-get update -qq && apt-get upgrade -y -qq && \
    apt-get install -y -qq --no-install-recommends \
        ca-certificates gcc libc6-dev python3-dev python3-venv tzdata
WORKDIR /src
COPY pyproject.toml meson.build meson.options README.md LICENSE ./
COPY core core
COPY commentsvc commentsvc
COPY static static
COPY po po
COPY config config
ARG VERSION
# Without bytecode: rootfs.py compiles everything that is in the image.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=secret,id=ca,target=/run/ca.pem \
    if [ -n "$VERSION" ]; then echo "$VERSION" >config/VERSION; fi && \
    python3 -m venv /build && \
    python3 -m venv --without-pip /opt/commentsvc && \
    PATH=/build/bin:$PATH && export PIP_NO_INPUT=1 PIP_NO_CACHE_DIR=1 && \
    pip install --no-compile -r config/requirements/build.txt && \
    pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . && \
    pip --python /opt/commentsvc/bin/python3 install --no-compile -r config/requirements/${LOCK}.txt && \
    pip --python /opt/commentsvc/bin/python3 install --no-compile --no-deps /wheel/*.whl && \
    python3 config/image/rootfs.py /root-of-image

FROM scratch
COPY --from=build /root-of-image /
ENV PATH=/opt/commentsvc/bin \
    COMMENTSVC_DATA=/data \
    COMMENTSVC_SERVER_LISTEN=0.0.0.0:8080 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["commentsvc", "healthcheck"]
ENTRYPOINT ["commentsvc"]
CMD ["serve"]
