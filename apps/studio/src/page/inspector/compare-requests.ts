import type { RequestView } from '@bowline/client'

/** Messages at one position of two prompts. */
export interface PromptRow {
  readonly before?: unknown
  readonly now?: unknown
  readonly same: boolean
}

export interface Comparison {
  readonly rows: readonly PromptRow[]
  /** Number of leading messages that are equal. */
  readonly shared: number
  readonly toolsAdded: readonly string[]
  readonly toolsRemoved: readonly string[]
  readonly settingsChanged: readonly string[]
}

/** Compares a request with the previous one. */
export function compareRequests(now: RequestView, before: RequestView | undefined): Comparison {
  const count = Math.max(now.prompt.length, before?.prompt.length ?? 0)
  const rows = Array.from({ length: count }, (_, place): PromptRow => {
    const [one, other] = [before?.prompt[place], now.prompt[place]]
    return {
      ...(one && { before: one }),
      ...(other && { now: other }),
      same: one !== undefined && other !== undefined && isSame(one, other),
    }
  })
  const firstOther = rows.findIndex(({ same }) => !same)
  const [nowTools, oldTools] = [toolNames(now), before ? toolNames(before) : toolNames(now)]
  const settings = new Set([...Object.keys(now.settings), ...Object.keys(before?.settings ?? {})])
  return {
    rows,
    shared: firstOther < 0 ? rows.length : firstOther,
    toolsAdded: nowTools.filter((name) => !oldTools.includes(name)),
    toolsRemoved: oldTools.filter((name) => !nowTools.includes(name)),
    settingsChanged: before ? [...settings].filter((name) => !isSame(now.settings[name], before.settings[name])).sort() : [],
  }
}

export function toolNames({ tools }: RequestView): readonly string[] {
  return tools.map(({ name }) => (typeof name === 'string' ? name : '?'))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
