// node packages/agent-loop/test/work/count-work.ts --list [name...]: prints the functions that the work of these names calls, most calls
// first; the default is `step`. Without `--list` it prints all counts as JSON, for the test. The counts are the same on every machine.
import { createHook } from 'node:async_hooks'
import { manualClock } from '@bowline/llm/testing'
import type { AgentRun } from '../../src/index.ts'
import { countCalls, type CallCounts, type CountedFunction } from './count-calls.ts'
import { aiSdkAgent, deltaAgent, functionAgent, type CountedAgent } from './counted-agents.ts'
import { knownCalls } from './known-calls.ts'

export interface Work {
  /** Counts this package. */
  readonly own: Calls
  /** Counts `@bowline/llm`, without its test doubles. */
  readonly llm: Calls
  /** Counts the whole process: model, tool and reader make some promises too. */
  readonly promises: number
}

export interface Calls {
  readonly calls: number
  readonly functions: number
  readonly files: number
  /** Most calls first. */
  readonly list: readonly CountedFunction[]
}

/** The output of the program. */
export interface CountedWork {
  readonly works: Readonly<Record<WorkName, Work>>
  /** The calls of each function of `knownCalls`. */
  readonly known: readonly CountedFunction[]
}

export type WorkName = keyof typeof works

/** Reads a run to its end. Calls `onFirstDelta` when it sees the first delta, if it reads events at all. */
type Read = (run: AgentRun, onFirstDelta: () => void) => Promise<unknown>
type Counted = { readonly calls: CallCounts; readonly promises: number }

const stepsBetween = 10
const deltasBetween = 1000
const takeCalls = countCalls()

const works = {
  step: () => countOne(functionAgent, settle, 10),
  'late step': () => countOne(functionAgent, settle, 50),
  'step with a reader': () => countOne(functionAgent, readAll, 10),
  'first delta': () => countFirstDelta(functionAgent),
  'plain turn': () => countTurn(functionAgent),
  'delta without a reader': () => countOne(deltaAgent, settle, 100, deltasBetween),
  'delta with a reader': () => countOne(deltaAgent, readAll, 100, deltasBetween),
  'delta with ten readers': () => countOne(deltaAgent, readTenTimes, 100, deltasBetween),
  'step, AI SDK': () => countOne(aiSdkAgent, settle, 10),
  'step with a reader, AI SDK': () => countOne(aiSdkAgent, readAll, 10),
  'first delta, AI SDK': () => countFirstDelta(aiSdkAgent),
}

/**
 * Counts one step or delta: plays a run with `after` of them and a run with `between` more, and divides the difference by
 * `between`.
 */
async function countOne(agentOf: CountedAgent, read: Read, after: number, between = stepsBetween): Promise<Work> {
  const few = await countRun(agentOf, after, read)
  const many = await countRun(agentOf, after + between, read)
  const calls = new Map<string, CountedFunction>()
  for (const [place, counted] of many.calls) {
    const more = counted.calls - (few.calls.get(place)?.calls ?? 0)
    if (more !== 0) calls.set(place, { ...counted, calls: more / between })
  }
  return workOf({ calls, promises: (many.promises - few.promises) / between })
}

/** Counts a turn with one answer and one reader, from its start to its end. */
async function countTurn(agentOf: CountedAgent): Promise<Work> {
  return workOf(await countRun(agentOf, 0, readAll))
}

async function countFirstDelta(agentOf: CountedAgent): Promise<Work> {
  return workOf(await countRun(agentOf, 0, readAll, true))
}

/**
 * Counts a run from its start to its end, or to its first delta. The agent has run before, so that nothing happens for the first
 * time.
 */
async function countRun(agentOf: CountedAgent, size: number, read: Read, untilFirstDelta = false): Promise<Counted> {
  const agent = agentOf(size)
  const play = async (onEnd: () => void) => {
    const run = agent.run('go', { clock: manualClock() })
    await read(run, untilFirstDelta ? onEnd : () => undefined)
    if (!untilFirstDelta) onEnd()
    const { status, error } = await run.result()
    if (status !== 'completed') throw new Error(`The run ended as ${status}: ${error?.message}`)
  }
  await play(() => undefined)
  return { calls: await callsOf(play), promises: await promisesOf(play) }
}

type Play = (onEnd: () => void) => Promise<void>

async function callsOf(play: Play): Promise<CallCounts> {
  let calls: CallCounts = new Map()
  takeCalls()
  await play(() => (calls = takeCalls()))
  return calls
}

async function promisesOf(play: Play): Promise<number> {
  let promises = 0
  let atEnd = 0
  const hook = createHook({ init: (_, type) => void (type === 'PROMISE' && (promises += 1)) }).enable()
  await play(() => (atEnd = promises))
  hook.disable()
  return atEnd
}

function settle(run: AgentRun): Promise<unknown> {
  return run.result()
}

async function readAll(run: AgentRun, onFirstDelta: () => void): Promise<void> {
  let seen = false
  for await (const { type } of run) {
    if (type !== 'text-delta' || seen) continue
    seen = true
    onFirstDelta()
  }
}

function readTenTimes(run: AgentRun, onFirstDelta: () => void): Promise<unknown> {
  return Promise.all(Array.from({ length: 10 }, () => readAll(run, onFirstDelta)))
}

function workOf({ calls, promises }: Counted): Work {
  const all = [...calls.values()].toSorted((a, b) => b.calls - a.calls || compare(placeOf(a), placeOf(b)))
  return {
    own: callsIn(all.filter(({ file }) => file.startsWith('agent-loop/src/'))),
    llm: callsIn(all.filter(({ file }) => file.startsWith('llm/src/') && !file.startsWith('llm/src/testing/'))),
    promises,
  }
}

function callsIn(list: readonly CountedFunction[]): Calls {
  const calls = list.reduce((sum, counted) => sum + counted.calls, 0)
  return { calls, functions: list.length, files: new Set(list.map(({ file }) => file)).size, list }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function placeOf({ file, line, name }: CountedFunction): string {
  return `${file}:${String(line)} ${name}`
}

function isWorkName(name: string): name is WorkName {
  return Object.hasOwn(works, name)
}

async function printLists(names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (!isWorkName(name)) throw new Error(`Received ${name}. Name one of: ${Object.keys(works).join(', ')}`)
    const { own, llm, promises } = await works[name]()
    console.log(
      `${name}: ${own.calls} calls, ${own.functions} functions, ${own.files} files, ${promises} promises; ${llm.calls} calls of llm`,
    )
    for (const counted of [...own.list, ...llm.list]) console.log(`${String(counted.calls).padStart(6)}  ${placeOf(counted)}`)
  }
}

async function printAll(): Promise<void> {
  const counted: Partial<Record<WorkName, Work>> = {}
  for (const name of Object.keys(works) as WorkName[]) counted[name] = await works[name]()
  takeCalls()
  await knownCalls(100_000, 3)
  const known = [...takeCalls().values()].filter(({ file }) => file.endsWith('/known-calls.ts'))
  console.log(JSON.stringify({ works: counted, known }))
}

const [option, ...names] = process.argv.slice(2)
await (option === '--list' ? printLists(names.length > 0 ? names : ['step']) : printAll())
