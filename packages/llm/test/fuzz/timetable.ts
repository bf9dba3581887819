import type { Timeouts } from '../../src/index.ts'
import type { Item, ProviderPlan } from './provider.ts'

/** When and why a call ends that is read without pause and that nobody disturbs. */
export interface End {
  readonly why: 'its own end' | 'first-part' | 'idle' | 'total' | 'grace'
  /** From and to: the idle limit may fire a sixteenth late. */
  readonly betweenMs: readonly [number, number]
}

interface State {
  atMs: number
  /** When the last part came that keeps the call waiting; `undefined` before the first that is more than a greeting. */
  movedAt: number | undefined
  failedAt: number | undefined
  finishedAt: number | undefined
}

const graceAfterErrorMs = 1_000
const graceAfterFinishMs = 250

/** The end by the rules L24, L26 and L34; `undefined` where two things happen at one time, or none ever. */
export function expectedEnd(
  { items, ends }: Pick<ProviderPlan, 'items' | 'ends'>,
  timeouts: Timeouts,
): End | undefined {
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

/** What would end the call if nothing more came, soonest first. */
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
