import type { Timeouts } from '../../src/index.ts'
import type { Item, ProviderPlan } from './provider.ts'

/** Time and cause of the end of a call that is read without pauses or disturbance. */
export interface End {
  readonly why: 'its own end' | 'first-part' | 'idle' | 'total' | 'grace'
  /** Earliest and latest time: the idle limit may fire a sixteenth late. */
  readonly betweenMs: readonly [number, number]
}

interface State {
  atMs: number
  /** Time of the last part that restarts the idle limit; `undefined` until the first part after `stream-start`. */
  movedAt: number | undefined
  failedAt: number | undefined
  finishedAt: number | undefined
}

const graceAfterErrorMs = 1_000
const graceAfterFinishMs = 250

/** Computes the end by rules L24, L26 and L34. Returns `undefined` if two limits coincide, or if the call never ends. */
export function expectedEnd({ items, ends }: Pick<ProviderPlan, 'items' | 'ends'>, timeouts: Timeouts): End | undefined {
  const state: State = { atMs: 0, movedAt: undefined, failedAt: undefined, finishedAt: undefined }
  for (const item of items) {
    const [due] = limits(state, timeouts)
    const nextAt = state.atMs + ('sleepMs' in item ? item.sleepMs : 0)
    if (due && nextAt > due.betweenMs[1]) return due
    if (due && nextAt >= due.betweenMs[0]) return undefined
    state.atMs = nextAt
    take(state, item)
  }
  const [due, next] = limits(state, timeouts)
  if (ends !== 'hang') return { why: 'its own end', betweenMs: [state.atMs, state.atMs] }
  return due && next && next.betweenMs[0] <= due.betweenMs[1] ? undefined : due
}

function take(state: State, item: Item): void {
  if (!('part' in item)) return
  const { type } = item.part as { type: string }
  if (type !== 'stream-start' || state.movedAt !== undefined) state.movedAt = state.atMs
  if (type === 'error') state.failedAt ??= state.atMs
  const isSignOfLife = type === 'ping' || type === 'raw'
  if (type === 'finish' || (state.finishedAt !== undefined && !isSignOfLife)) state.finishedAt = state.atMs
}

/** Returns the limits that would end the call without further parts, earliest first. */
function limits(state: State, { firstPartMs = 300_000, idleMs = 120_000, totalMs = 0 }: Timeouts): End[] {
  const { movedAt, failedAt = Infinity, finishedAt = Infinity } = state
  const isOver = failedAt < Infinity || finishedAt < Infinity
  const exactly = (why: End['why'], atMs: number): End => ({ why, betweenMs: [atMs, atMs] })
  const ends = [exactly('total', totalMs || Infinity)]
  if (isOver) ends.push(exactly('grace', Math.min(failedAt + graceAfterErrorMs, finishedAt + graceAfterFinishMs)))
  else if (movedAt === undefined) ends.push(exactly('first-part', firstPartMs || Infinity))
  else if (idleMs > 0) ends.push({ why: 'idle', betweenMs: [movedAt + idleMs, movedAt + (idleMs * 17) / 16] })
  return ends.filter(({ betweenMs: [from] }) => from < Infinity).sort((a, b) => a.betweenMs[0] - b.betweenMs[0])
}
