/**
 * True in `.ci/run`, whose time is short. What it leaves out runs with `npm test`, and with `npm run surroundings` on each Postgres
 * and Node: another backend, another version or another page of what stays in.
 */
export const inGate = process.env.GATE === '1'
