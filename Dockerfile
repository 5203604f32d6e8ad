FROM node:24.21.0-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# npm warns about the uWebSockets.js builds for Node 22. This image does not use them.
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24.21.0-trixie-slim
# Without REDIS_URL the service starts a private redis-server that keeps its data in /data.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends redis-server \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=node --group=node /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE README.md ./
COPY src src
# The pages below /docs show them.
COPY docs docs
# Production requires SESSION_KEYS and PUBLIC_URL: docker run -e SESSION_KEYS=… -e PUBLIC_URL=https://…
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
USER node
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Starts Node without a shell and without npm, so that SIGTERM reaches the service.
CMD ["node", "src/main.ts"]
