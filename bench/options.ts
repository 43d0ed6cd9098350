// What the flags of `npm run bench` and `npm run scale` take.

import { InvalidArgumentError } from 'commander'

/** Parses some of the parts of a run, separated by commas. The parser throws InvalidArgumentError, which commander reports. */
export const partsFrom =
  <Part extends string>(parts: readonly Part[]) =>
  (text: string): readonly Part[] =>
    text.split(',').map((name) => {
      const part = parts.find((each) => each === name)
      if (part === undefined)
        throw new InvalidArgumentError(`There is no part "${name}"; there are ${parts.join(', ')}.`)
      return part
    })

/** Parses a whole number from `least` to `most`. The parser throws InvalidArgumentError, which commander reports. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const count = Number(text)
    if (!Number.isInteger(count) || count < least || count > most)
      throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`)
    return count
  }
