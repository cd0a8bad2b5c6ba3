# syntax=docker/dockerfile:1
# The server of bundles. Bundles are mounted, never built in: docker run -v ./bundles:/bundles:ro -e RAG_API_KEYS=… -p 127.0.0.1:8000:8000 assay
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS build
# The address of an index of PyTorch: builds without CUDA are a tenth of the size, others take a graphics card.
ARG TORCH_INDEX=
ENV PIP_CACHE_DIR=/cache \
    PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/assay
COPY requirements.lock requirements-image.lock requirements-torch.lock ./
RUN --mount=type=cache,target=/cache \
    /opt/assay/bin/pip install --require-hashes --no-deps --requirement requirements.lock --requirement requirements-image.lock
RUN --mount=type=cache,target=/cache \
    /opt/assay/bin/pip install --constraint requirements-torch.lock --no-deps ${TORCH_INDEX:+--index-url "${TORCH_INDEX}"} torch \
    && /opt/assay/bin/pip install --constraint requirements-torch.lock torch
COPY pyproject.toml weights.py README.md LICENSE ./
COPY conf ./conf
COPY experiments ./experiments
COPY datasets ./datasets
COPY rag ./rag
RUN --mount=type=cache,target=/cache \
    /opt/assay/bin/pip install --no-deps ".[mlflow,serve,otel,postgres,openai,faiss,torch]" && /opt/assay/bin/pip check

FROM python:${PYTHON}-slim-bookworm
# Whoever breaks out of the process owns nothing here but the folder of its own data.
RUN useradd --uid 10001 --home-dir /srv --no-create-home --shell /usr/sbin/nologin assay \
    && install --directory --owner=assay --group=assay /srv/.rag /artifacts
COPY --from=build /opt/assay /opt/assay
# Other machines reach a container: without RAG_API_KEYS the server refuses to start.
ENV PATH=/opt/assay/bin:$PATH \
    HF_HOME=/srv/.rag/huggingface \
    MLFLOW_DISABLE_TELEMETRY=true \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RAG_HOST=0.0.0.0 \
    RAG_PORT=8000
WORKDIR /srv
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as ask; ask.urlopen('http://127.0.0.1:' + os.environ['RAG_PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["rag"]
CMD ["serve", "/bundles/current", "--watch"]
