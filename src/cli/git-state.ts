// What git does with a file: every reader of the repository can read the files that git tracks.

import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

/** `none`: there is no git, or no repository around the file; `unknown`: git could not say. */
export type GitState = 'tracked' | 'ignored' | 'open' | 'none' | 'unknown'

/** What git does with a file, or with the target of a link. Runs git in the folder of the file. */
export async function gitStateOf(path: string): Promise<GitState> {
  const target = await realpath(path).catch(() => path) // a file that is not there is a link to nothing
  const states = await Promise.all([...new Set([path, target])].map(stateOf))
  const gravest: readonly GitState[] = ['tracked', 'unknown', 'open', 'ignored']
  return gravest.find((state) => states.includes(state)) ?? 'none'
}

async function stateOf(path: string): Promise<GitState> {
  const tracked = await git(path, ['ls-files', '--error-unmatch'])
  if (tracked === 0) return 'tracked'
  if (tracked !== 1) return tracked
  const ignored = await git(path, ['check-ignore', '--quiet'])
  return ignored === 0 ? 'ignored' : ignored === 1 ? 'open' : ignored
}

/** Runs git on a file. @returns 0 for yes, 1 for no, else why there is no answer */
function git(path: string, args: readonly string[]): Promise<0 | 1 | 'none' | 'unknown'> {
  return new Promise((resolve) => {
    const options = { cwd: dirname(path), env: { ...process.env, LC_ALL: 'C' } }
    execFile('git', [...args, '--', basename(path)], options, (error, _stdout, stderr) => {
      if (error === null) resolve(0)
      else if (error.code === 1) resolve(1)
      else resolve(String(error.code) === 'ENOENT' || /not a git repository/.test(stderr) ? 'none' : 'unknown')
    })
  })
}
