import type { AgentEvent } from '@bowline/agent-loop'
import type { Runtime, Session } from '@bowline/sessions'
import { sessionKeyOf } from '../../../src/server/session-key.ts'
import { hostileHtml, hostileName } from './hostile.ts'
import type { World } from './world.ts'

/** Sessions of a recording, by the id with which a test opens them. */
export const recorded = {
  crash: 'what is the weather in Oslo and Lima',
  recovery: 'pay the invoice',
  story: 'tell me a story',
  plan: 'make a plan',
  compaction: 'long talk',
  research: 'research knots',
  retries: 'fail',
  failed: 'wrong key',
  stopped: 'index the docs',
  limit: 'be slow',
  branches: 'what is the weather in Oslo',
  fork: 'another way',
  approval: 'delete the report',
  place: 'where am I',
  hostile: hostileHtml,
  unknown: 'tell me a tale',
  huge: 'one megabyte',
  // Sessions with work in progress, as long as the clock stands still.
  streaming: 'tell me a long story',
  tool: 'index all the docs',
  child: 'research the sheet bend',
  retrying: 'fail again',
  pieces: 'piece by piece',
} as const

export type RecordedId = keyof typeof recorded

/** Records each session. Returns the process that executes the sessions with work in progress. */
export async function record(world: World): Promise<Runtime> {
  const runtime = await recordDeath(world)
  const recorder = recorderOf(world, runtime)
  for (const id of ['story', 'plan', 'compaction', 'research', 'retries', 'limit', 'branches'] as const) await recorder.finish(id)
  await recorder.finish('failed', hostileName)
  await recorder.finish('hostile', hostileName)
  await recorder.finish('huge', hostileName)
  await recordStop(world, recorder)
  await recordBranches(world, recorder)
  await recordUnknown(world, recorder)
  for (const id of ['approval', 'place'] as const) await recorder.reach(id, 'waiting-for-user')
  await recordMiddle(world, recorder)
  return runtime
}

function recorderOf(world: World, runtime: Runtime) {
  const session = (id: RecordedId, agent?: string): Session => world.session(runtime, id, recorded[id].slice(0, 80), agent)
  const reach = async (id: RecordedId, status: string, agent?: string): Promise<Session> => {
    const opened = session(id, agent)
    await opened.send(recorded[id])
    await world.until(async () => (await opened.info())?.status === status)
    return opened
  }
  return {
    session,
    reach,
    /** Runs a session until no work is left, including background work. */
    async finish(id: RecordedId, agent?: string): Promise<Session> {
      const opened = session(id, agent)
      await opened.send(recorded[id])
      await world.until(async () => endsWithRest(await eventsOf(opened)))
      return opened
    },
  }
}

type Recorder = ReturnType<typeof recorderOf>

/** Lets a process die during two sessions: one tool has ended, two are running. */
async function recordDeath(world: World): Promise<Runtime> {
  const { runtime: mortal, die } = world.mortal
  await mortal.start()
  const ids = ['crash', 'recovery'] as const
  await Promise.all(ids.map((id) => world.session(mortal, id, recorded[id]).send(recorded[id])))
  const crash = mortal.session(sessionKeyOf('crash'))
  const recovery = mortal.session(sessionKeyOf('recovery'))
  await world.until(async () => has(await eventsOf(crash), 'tool-execution-end') && has(await eventsOf(recovery), 'tool-execution-start'))
  await world.pass(500)
  die()
  const runtime = world.open()
  await runtime.start()
  const statusOf = async (id: (typeof ids)[number]): Promise<string | undefined> => (await runtime.session(sessionKeyOf(id)).info())?.status
  await world.until(async () => (await statusOf('crash')) === 'completed' && (await statusOf('recovery')) === 'needs-recovery')
  return runtime
}

async function recordStop(world: World, { session }: Recorder): Promise<void> {
  const stopped = session('stopped')
  await stopped.send(recorded.stopped)
  await world.until(async () => has(await eventsOf(stopped), 'tool-execution-start'))
  await world.pass(1500)
  const receipt = stopped.stop()
  await world.until(async () => (await stopped.info())?.status === 'stopped')
  await receipt
}

/** Records two branches in one log, and a session that was forked from the older one. */
async function recordBranches(world: World, { session, finish }: Recorder): Promise<void> {
  const branches = session('branches')
  const { items } = await branches.messages()
  await branches.switchTo(items[0]?.id ?? null)
  await branches.send('what is the weather in Lima')
  await world.until(async () => (await eventsOf(branches)).filter(({ type }) => type === 'settled').length === 2)
  await branches.fork({ key: sessionKeyOf('fork'), entryId: items.at(-1)?.id ?? '', metadata: { title: recorded.fork } })
  await finish('fork')
}

/** Records a log of a newer runtime: events and a part of a message that this page does not know. */
async function recordUnknown(world: World, { finish }: Recorder): Promise<void> {
  const session = await finish('unknown')
  const at = world.now()
  const message = {
    id: 'message_newer',
    role: 'assistant',
    content: [
      { type: 'hologram', shape: 'knot' },
      { type: 'text', text: 'A known part beside it.' },
    ],
    stopReason: 'stop',
    provider: 'offline',
    modelId: 'newer',
    usage: {},
    at,
  }
  const { leaf } = (await session.info()) ?? {}
  const facts = { runId: 'run_newer', turn: 2, step: 1, at }
  const events = [
    { type: 'tide-turned', height: 2.4, ...facts },
    { type: 'message-start', messageId: message.id, attempt: 1, model: { provider: 'offline', modelId: 'newer' }, ...facts },
    { type: 'message-end', messageId: message.id, message, ...facts },
    { type: 'wind-changed', from: '<b>north</b>', ...facts },
    { type: 'save-point', ...facts },
  ]
  const entry = { id: message.id, parentId: leaf, at, type: 'message', message }
  // The store accepts the data, as it would from a newer process.
  const batch = {
    id: 'batch_newer',
    key: session.key,
    expect: [],
    writes: [
      { op: 'entry.append', entries: [entry] },
      { op: 'event.append', events: events.map((event) => ({ event })) },
    ],
  }
  await world.store.commit(batch as unknown as Parameters<typeof world.store.commit>[0])
}

const middleMs = 2600

/** Starts all sessions at once, and stops the clock while each has work in progress. */
async function recordMiddle(world: World, { session }: Recorder): Promise<void> {
  const ids = ['streaming', 'tool', 'child', 'retrying'] as const
  for (const id of ids) {
    await session(id).send(recorded[id])
    await world.settle()
  }
  await world.pass(middleMs)
  await session('tool').steer('only the knots, please')
  await session('tool').followUp('and then tell me a story')
  await session('pieces', hostileName).send(recorded.pieces)
  await world.settle()
}

/** Returns the log of a session. Empty if it does not exist. */
export async function eventsOf(session: Session): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  if (!(await session.info())) return events
  for await (const event of session.events({ live: false })) events.push(event)
  return events
}

function has(events: readonly AgentEvent[], type: AgentEvent['type']): boolean {
  return events.some((event) => event.type === type)
}

/** Returns true if each child has ended and the last event says that no work is left. */
function endsWithRest(events: readonly AgentEvent[]): boolean {
  const count = (type: AgentEvent['type']): number => events.filter((event) => event.type === type).length
  return (
    events.at(-1)?.type === 'settled' &&
    count('child-start') === count('child-end') &&
    count('settled') >= (has(events, 'child-start') ? 2 : 1)
  )
}
