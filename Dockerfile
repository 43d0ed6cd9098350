# The image of boat-mirror: compiled in one stage, run in another with production packages only, as an unprivileged user.
# The embedded Postgres is left out: a container gets its database from DATABASE_URL.

FROM node:24-alpine AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/bundle.mjs scripts/
COPY migrations migrations
COPY src src
COPY sandbox sandbox
RUN npm run build && find dist -name '*.d.ts' -delete

FROM node:24-alpine AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# npm lists what is installed (SBOM) once package.json asks for no more than that. What only a compiler or a debugger reads
# is left out.
RUN npm ci --ignore-scripts --no-audit --no-fund --omit=dev --omit=optional \
  && npm pkg delete devDependencies optionalDependencies \
  && npm sbom --sbom-format=spdx > sbom.spdx.json \
  && npm cache clean --force \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' \) -delete

FROM node:24-alpine
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="boat-mirror" \
      org.opencontainers.image.description="Keeps a Postgres database equal to what a boat-rental API shows, and carries changes back." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"
ENV NODE_ENV=production \
    # Reachable from outside the container; the worker's pages demand ADMIN_TOKEN.
    HOST=0.0.0.0 \
    PORT=8484 \
    # Written to only where there is no DATABASE_URL or no API_BASE_URL.
    DATA_DIR=/data
WORKDIR /app
RUN mkdir /data && chown 1000:1000 /data && ln -s /app/dist/src/cli/main.js /usr/local/bin/boat-mirror
COPY package.json LICENSE README.md ./
COPY docs docs
COPY --from=packages /app/sbom.spdx.json ./
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
# A number, so that Kubernetes can see that it is not root; any other will do.
USER 1000:1000
EXPOSE 8484
# Node as the first process handles SIGTERM itself: tasks reach their checkpoint or are given back.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["boat-mirror"]
CMD ["worker"]
