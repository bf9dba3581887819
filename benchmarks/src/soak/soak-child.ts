// node --expose-gc soak-child.ts <sqlite file or postgres address> <seconds>: one process under load. Sends its figures to its
// parent, which then disconnects. It ends by itself, unless a handle is left.
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { heapAfterCollection } from '../harness.ts'
import { longSeconds, type SoakFigures, type SoakPart } from './soak-figures.ts'
import { startSystem, type SoakSystem } from './soak-system.ts'
import { largeConversations, workUntil, type SoakCounts } from './soak-work.ts'

const parts = 4
const lanes = 8

const [place, seconds] = process.argv.slice(2)
if (place === undefined || !(Number(seconds) > 0)) throw new Error('usage: node --expose-gc soak-child.ts <file or address> <seconds>')
const store = place.startsWith('postgres') ? postgresStore({ connectionString: place }) : sqliteStore({ file: place })
const system = await startSystem(store)
const figures = await soak(system, Number(seconds))
await system.stop()
// The channel to the parent, and the output.
const ownHandles = ['PipeWrap', 'TTYWrap', 'FSReqCallback']
const left = process.getActiveResourcesInfo().filter((kind) => !ownHandles.includes(kind))
process.send?.({ ...figures, left })

async function soak(it: SoakSystem, lastsSeconds: number): Promise<Omit<SoakFigures, 'left'>> {
  const counts: SoakCounts = { turns: 0, completed: 0, sessions: 0, wrong: [], next: 0 }
  const isLong = lastsSeconds >= longSeconds
  if (isLong) await largeConversations(it, counts)
  const large = counts.completed
  const measured: SoakPart[] = []
  for (let part = 1; part <= parts; part++) measured.push(await measure(it, counts, (lastsSeconds * 1_000) / parts))
  const problems = [...counts.wrong, ...it.faults].slice(0, 10)
  const left = await unsentNotices(it)
  if (left > 0) problems.push(`${left} webhooks were not sent`)
  const { turns, completed, sessions } = counts
  return { parts: measured, turns, completed, sessions, notices: it.notices(), ...(isLong && { large }), problems }
}

async function measure(it: SoakSystem, counts: SoakCounts, forMs: number): Promise<SoakPart> {
  const [turnsBefore, cpuBefore, endsAt] = [counts.turns, process.cpuUsage(), performance.now() + forMs]
  await workUntil(it, counts, lanes, () => performance.now() >= endsAt)
  const { user, system: ofSystem } = process.cpuUsage(cpuBefore)
  await quiet(it)
  const heldBytes = heapAfterCollection() + process.memoryUsage().external
  const turns = counts.turns - turnsBefore
  return { turns, cpuMsPerTurn: (user + ofSystem) / 1_000 / turns, heldBytes }
}

/** Waits until no run is open and no webhook is due, but not longer than ten seconds: a webhook may have to be sent again. */
async function quiet({ runtime }: SoakSystem): Promise<void> {
  const endsAt = performance.now() + 10_000
  while (performance.now() < endsAt) {
    const open = await runtime.sessions({ status: ['queued', 'running'], limit: 1 })
    const notices = await runtime.notices({ state: 'pending', limit: 1 })
    if (open.items.length === 0 && notices.items.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function unsentNotices({ runtime }: SoakSystem): Promise<number> {
  return (await runtime.notices({ state: 'pending', limit: 1_000 })).items.length
}
