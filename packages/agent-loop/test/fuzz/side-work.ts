import { emptyView, reduceEvents } from '../../src/index.ts'
import type { AgentResult, AgentRun, RunOptions, ToolContext } from '../../src/index.ts'
import { checkEvents, checkTranscript, recordingJournal } from '@bowline/testing'
import type { RecordingJournal } from '@bowline/testing'
import { tokensToldIn } from './spending.ts'
import type { World } from './world.ts'

/** The run of a child that a tool has spawned. */
export interface SideWork {
  /** Also its input: a text that occurs nowhere else. */
  readonly runId: string
  readonly tools: readonly string[]
  readonly journal: RecordingJournal
  readonly result: Promise<AgentResult>
}

const mayRun = ['pure', 'once', 'alone', 'far', 'asked', 'stream', 'delegate_to_helper'] as const

/** Runs a child and waits for its end. */
export async function doSideWork(world: World, context: ToolContext, options: RunOptions = {}): Promise<string> {
  const run = spawn(world, context, options)
  return (await run.result()).status
}

/** Reads the first events of a child, and then leaves it. */
export async function peekAtSideWork(world: World, context: ToolContext, events: number): Promise<string> {
  const run = spawn(world, context, { mode: 'synchronized', onBreak: 'abort' })
  let seen = 0
  for await (const _event of run) if (++seen >= events) break
  return (await run.result()).status
}

function spawn(world: World, context: ToolContext, options: RunOptions): AgentRun {
  const { budget, ids } = world
  const tools = toolsFor(world, context)
  const runId = world.name('side')
  const journal = recordingJournal(world.loop.createMemoryJournal())
  const child = context.spawnChild({ tools })
  const given = { journal, runId, random: () => 0.5, abortSignal: context.abortSignal, ...(ids && { ids }), ...(budget && { budget }) }
  const run = child.run(runId, { ...given, ...options })
  world.sideWorks.push({ runId, tools, journal, result: run.result() })
  return run
}

/** Returns the tools of a child: a child of a child may have no more than its parent. */
function toolsFor(world: World, { agent, runId }: ToolContext): readonly string[] {
  const above = world.sideWorks.find((side) => side.runId === runId)
  if (above) return above.tools.filter((name) => name === 'pure' || name === 'far')
  return agent.length > 0 ? mayRun.slice(0, 3) : mayRun
}

/** Checks what must hold for the side work of a run that has ended. */
export async function checkSideWork(world: World, root: RecordingJournal): Promise<void> {
  const sides = world.sideWorks.splice(0)
  if (sides.length === 0) return
  const log = JSON.stringify(recordsIn(root))
  for (const side of sides) {
    world.toldAside += tokensToldIn(side.journal)
    world.claim(!log.includes(side.runId), `A167: ${side.runId} is in the journal of the run`)
    await checkSide(world, side)
  }
}

function recordsIn({ commits, childJournals }: RecordingJournal): readonly unknown[] {
  return [...commits, ...[...childJournals.values()].flatMap(recordsIn)]
}

async function checkSide(world: World, { runId, journal, result }: SideWork): Promise<void> {
  const { messages, open } = await journal.load()
  const { status, messages: told } = await result
  const view = journal.events.reduce(reduceEvents, emptyView)
  for (const problem of checkEvents(journal.log)) world.claim(false, `A35: ${runId}: ${problem}`)
  for (const problem of checkTranscript(messages, { openCalls: open !== undefined })) world.claim(false, `A113: ${runId}: ${problem}`)
  world.claim(JSON.stringify(view.messages) === JSON.stringify(messages), `A45: the fold of ${runId} is not its transcript`)
  world.claim(JSON.stringify(told) === JSON.stringify(messages), `A16: the result of ${runId} has other messages than its journal`)
  world.claim(view.outcome === status, `A45: ${runId} is ${status} and ${view.outcome} in its log`)
}
