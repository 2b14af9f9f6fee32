# syntax=docker/dockerfile:1
# One image per process, each with the dependencies of its own extra only:
#   docker build --target scheduler --tag gpu-scheduler:0.1.0 .
#   docker build --target webhook --tag gpu-scheduler-webhook:0.1.0 .
#   docker build --target certs --tag gpu-scheduler-certs:0.1.0 .
ARG PYTHON=3.13-slim

# The project as a wheel. Its dependencies are wheels too, so that no later stage compiles or downloads.
FROM python:${PYTHON} AS source
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM source AS webhook-wheels
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[webhook]'

FROM source AS scheduler-wheels
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[scheduler]'

FROM source AS certs-wheels
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[certs]'

# What all images share. The root file system is read-only at run time: byte code is written now, at installation.
FROM python:${PYTHON} AS runtime
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["gpu-scheduler"]

FROM runtime AS webhook
RUN --mount=type=bind,from=webhook-wheels,source=/wheels,target=/wheels \
    cd /wheels && pip install --no-cache-dir --no-index --find-links=. 'gpu-scheduler[webhook]'
USER 65532:65532
EXPOSE 8443 8080
CMD ["webhook", "--config", "/etc/gpu-scheduler/webhook.yaml"]

FROM runtime AS certs
RUN --mount=type=bind,from=certs-wheels,source=/wheels,target=/wheels \
    cd /wheels && pip install --no-cache-dir --no-index --find-links=. 'gpu-scheduler[certs]'
USER 65532:65532
CMD ["certs", "--help"]

FROM runtime AS scheduler
RUN --mount=type=bind,from=scheduler-wheels,source=/wheels,target=/wheels \
    cd /wheels && pip install --no-cache-dir --no-index --find-links=. 'gpu-scheduler[scheduler]'
USER 65532:65532
EXPOSE 10259
CMD ["run", "--config", "/etc/gpu-scheduler/config.yaml"]
