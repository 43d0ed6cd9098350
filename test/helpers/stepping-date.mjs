// Loaded into a process before its program (`node --import`): its wall clock is off by as many milliseconds as the file
// named by WALL_CLOCK_FILE says, also while it runs. Steady time is not touched.

import { readFileSync } from 'node:fs'

const RealDate = Date
let offsetMs = 0
const look = () => {
  offsetMs = Number(readFileSync(process.env.WALL_CLOCK_FILE, 'utf8'))
}
look()
setInterval(look, 20).unref()

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offsetMs)
    else super(...given)
  }
  static now() {
    return RealDate.now() + offsetMs
  }
}
