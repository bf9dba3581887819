export interface Progress {
  readonly lines: readonly string[]
  /** Numbers from lines of the form `3/24 …`. */
  readonly done?: number
  readonly total?: number
}

const shownLines = 5

/** Returns the output so far of a running tool as a progress bar and the last lines of its log. */
export function readProgress(text: string): Progress {
  const lines = text.split('\n').filter((line) => line !== '')
  const counted = lines.findLast((line) => countPattern.test(line))
  const count = counted === undefined ? null : countPattern.exec(counted)
  const shown = { lines: lines.slice(-shownLines) }
  return count ? { ...shown, done: Number(count[1]), total: Number(count[2]) } : shown
}

const countPattern = /^(\d+)\/([1-9]\d*)(?:\s|$)/
