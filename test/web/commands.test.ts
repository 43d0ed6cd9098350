// The commands that pages offer can be typed as shown.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { commandRow } from '../../src/web/parts/frame.ts'
import { layout } from '../../src/web/parts/html.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('a command on a page', () => {
  const pageIn = (name: string, script: string): string => {
    vi.stubEnv('npm_package_name', name)
    vi.stubEnv('npm_lifecycle_event', script)
    return layout({ title: 'boat-mirror 1.2.3', body: commandRow(['runs show 7']), live: false })
  }
  it.each([
    { where: 'where it is installed', name: 'boats', script: 'start', command: 'boat-mirror runs show 7' },
    { where: 'in a checkout', name: 'boat-mirror', script: 'start', command: 'npm run cli -- runs show 7' },
  ])('is shown and copied as it works $where', ({ name, script, command }) => {
    const page = pageIn(name, script)
    expect(page).toContain(`<code>${command}</code>`)
    expect(page).toContain(`data-copy="${command}"`)
    expect(page).toContain('<title>boat-mirror 1.2.3</title>')
  })
})
