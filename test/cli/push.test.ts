// `push` and `changes`, end to end: the command line, a database of its own, a sandbox.

import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { Planner } from '../outbox/plans.ts'
import { errorOf, openCommandLine } from './program.ts'

const database = opened(() => createTestDatabase())
const sandbox = opened(() => createSandbox({ size: 60 }))
const api = { API_AUTH: 'none', API_RATE_LIMIT: '0' }
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, ...api }))
let planner: Planner
beforeAll(() => {
  planner = new Planner(sandbox)
})

/** As a partner's own system does it. */
async function enqueue(operation: string, target: object, body: object = {}, options: object = {}): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4) as id', [
    operation,
    target,
    body,
    options,
  ])
  return String(rows[0]?.id)
}

/** So that the next test starts with an empty outbox. */
const forget = (id: string) => database.pool.query('delete from outbox.queue where id = $1', [id])

const truth = (rentalId: number) =>
  sandbox.truth({ only: ['rentals'] }).rentals?.find((row) => row.key.id === rentalId)?.record

describe('push', () => {
  it('says that nothing is queued', async () => {
    expect(await cli.run(['push'])).toMatchObject({ code: 0, stdout: 'Nothing is queued.\n' })
  })

  it('shows what it would send, field by field, and sends nothing, with --dry-run', async () => {
    const rentalId = planner.rental()
    const id = await enqueue('rental.update', { rentalId }, { orderLink: 'https://example.com/dry' })
    sandbox.resetRequests()
    const { code, stdout } = await cli.run(['push', '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toContain(`${id}  rental.update  PUT /v3/rentals/${rentalId}`)
    expect(stdout).toContain(`  orderLink: ${JSON.stringify(truth(rentalId)?.orderLink)} → "https://example.com/dry"`)
    expect(sandbox.requests().filter(({ method }) => method !== 'GET')).toEqual([])
    await forget(id)
  })

  it('sends what is queued, prints a table, and shows no body in its output', async () => {
    const rentalId = planner.rental()
    const id = await enqueue('rental.update', { rentalId }, { orderLink: 'https://example.com/private' })
    const { code, stdout, stderr } = await cli.run(['push'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${id} +rental\\.update +rental:${rentalId} +done +1`, 'm'))
    expect(stdout).not.toContain('private')
    expect(truth(rentalId)).toMatchObject({ orderLink: 'https://example.com/private' })
  })

  it('ends with 1 when a change was refused', async () => {
    const id = await enqueue('rental.update', { rentalId: 1 }, { orderLink: 'x' })
    expect((await cli.run(['push'])).code).toBe(1)
    expect(JSON.parse((await cli.run(['changes', 'show', id, '--json'])).stdout)).toMatchObject({ status: 'failed' })
    await forget(id)
  })

  it('ends with 3 while a conflict is left, which a person can see and decide', async () => {
    const rentalId = planner.rental()
    const base = { base: { orderLink: 'https://example.com/seen' } }
    const id = await enqueue('rental.update', { rentalId }, { orderLink: 'https://example.com/mine' }, base)
    const pushed = await cli.run(['push', '--json'])
    expect(pushed.code).toBe(3)
    expect(JSON.parse(pushed.stdout)).toMatchObject({ exitCode: 3, needPerson: [id] })
    const shown = await cli.run(['changes', 'show', id])
    expect(shown.stdout).toMatch(/FIELD +BASE +LOCAL +REMOTE/)
    expect(shown.stdout).toContain(`changes resolve ${id} --take local|remote`)

    expect((await cli.run(['changes', 'resolve', id, '--did-not'])).code).toBe(2)
    expect((await cli.run(['changes', 'resolve', id, '--take', 'local'])).code).toBe(0)
    expect((await cli.run(['push'])).code).toBe(0)
    expect(truth(rentalId)).toMatchObject({ orderLink: 'https://example.com/mine' })
  })
})

describe('changes', () => {
  it('are queued, listed by state and record, canceled and queued again', async () => {
    const rentalId = planner.rental()
    const target = JSON.stringify({ rentalId })
    const queued = await cli.run(['changes', 'enqueue', 'rental.update', target, '{"orderLink": "x"}', '--json'])
    const { id } = JSON.parse(queued.stdout) as { id: string }
    const args = ['changes', 'list', '--status', 'queued', '--aggregate', `rental:${rentalId}`, '--json']
    expect(JSON.parse((await cli.run(args)).stdout)).toMatchObject([{ id, status: 'queued' }])
    expect((await cli.run(['changes', 'cancel', id])).code).toBe(0)
    expect(JSON.parse((await cli.run(args)).stdout)).toEqual([])
    expect(await cli.run(['changes', 'retry', id])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('queued'),
    })
    expect((await cli.run(['changes', 'cancel', id])).code).toBe(0)
  })

  it('are decided by the plan that was looked at, and not once that has changed', async () => {
    const id = await enqueue('rental.update', { rentalId: planner.rental() }, { orderLink: 'https://example.com/plan' })
    const planShown = async (): Promise<string> => {
      const { plan } = JSON.parse((await cli.run(['changes', 'show', id, '--json'])).stdout) as { plan: string }
      expect((await cli.run(['changes', 'show', id])).stdout).toContain(`\nPlan         ${plan}`)
      return plan
    }
    const decided = async (): Promise<unknown> =>
      (
        await database.pool.query(
          `select q.status, (select count(*)::int from sync.decisions d where d.target = 'change:' || q.id) as decisions
           from outbox.queue q where q.id = $1`,
          [id],
        )
      ).rows[0]
    const [seen, cancel] = [await planShown(), ['changes', 'cancel', id, '--expected'] as const]
    expect((await cli.run([...cancel, seen])).code).toBe(0)
    expect(await decided()).toEqual({ status: 'canceled', decisions: 1 })
    // Another user queues it again. A decision on the first page is then refused, whatever it is.
    expect((await cli.run(['changes', 'retry', id, '--expected', await planShown()])).code).toBe(0)
    const before = await decided()
    expect(before).toEqual({ status: 'queued', decisions: 2 })
    for (const late of [
      [...cancel, seen],
      ['changes', 'retry', id, '--expected', seen],
      ['changes', 'resolve', id, '--take', 'local', '--expected', seen],
    ]) {
      const ended = await cli.run(late)
      expect(ended.code).toBe(1)
      expect(errorOf(ended)).toBe(
        `Change ${id} has changed since you reviewed it: its plan is no longer ${seen}. [PLAN_CHANGED]\n` +
          `See the new plan with: boat-mirror changes show ${id}, or in outbox.changes. Then decide again.`,
      )
    }
    expect(await decided(), 'nothing happened').toEqual(before)
    expect((await cli.run([...cancel, await planShown()])).code).toBe(0)
    for (const several of [
      ['cancel', id, id],
      ['retry', '--all'],
    ]) {
      const ended = await cli.run(['changes', ...several, '--expected', seen])
      expect(ended.code).toBe(2)
      expect(errorOf(ended)).toContain('--expected is the plan of one change. Give exactly one number.')
    }
    await forget(id)
  })

  it.each([
    {
      args: ['enqueue', 'rental.update', '{"rentalId": 1}', '{"status": "PENDING"}'],
      says: 'body.status is "PENDING". It must be one of VALIDATED',
    },
    { args: ['enqueue', 'rental.update', 'rental 1'], says: 'It must be JSON' },
    { args: ['resolve', '1'], says: 'Give one of --take local' },
    { args: ['resolve', '1', '--take', 'both'], says: 'It must be local or remote' },
    { args: ['list', '--status', 'lost'], says: 'It must be one of queued, sending' },
    { args: ['retry'], says: 'Give the numbers of changes, or --all' },
    { args: ['show', 'x'], says: 'It must be a number' },
  ])('refuses wrong usage with 2: $args', async ({ args, says }) => {
    const ended = await cli.run(['changes', ...args])
    expect(ended.code).toBe(2)
    expect(errorOf(ended)).toContain(says)
  })

  it('says when there is no such change', async () => {
    expect(await cli.run(['changes', 'show', '999999'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no change 999999'),
    })
  })
})
