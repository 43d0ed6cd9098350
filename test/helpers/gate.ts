/**
 * True in `.ci/run`, which has fifteen minutes. What a test skips there says why beside it, and runs with `npm test`, and with
 * `npm run surroundings` on each Postgres and Node. `vitest.config.ts` says which folders and files the gate omits.
 */
export const inGate = process.env.GATE === '1'
