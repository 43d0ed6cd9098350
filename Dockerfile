# The image of boat-mirror: compiled in one stage, run in another with production packages only, as an unprivileged user.
# The embedded Postgres is left out: a container gets its database from DATABASE_URL.

FROM node:22-alpine AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/bundle.mjs scripts/
COPY migrations migrations
COPY src src
RUN npm run build

FROM node:22-alpine AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund --omit=dev --omit=optional && npm cache clean --force

FROM node:22-alpine
LABEL org.opencontainers.image.title="boat-mirror" \
      org.opencontainers.image.description="Keeps a Postgres database equal to what a boat-rental API shows, and carries changes back." \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    # Reachable from outside the container; demands ADMIN_TOKEN.
    HOST=0.0.0.0 \
    PORT=8484 \
    DATA_DIR=/data
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE README.md ./
COPY docs docs
USER node
EXPOSE 8484
# Node as the first process handles SIGTERM itself: tasks reach their checkpoint or are given back.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/cli/main.js"]
CMD ["worker"]
