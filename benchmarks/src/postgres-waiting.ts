import { createRuntime, type Claim, type ClaimRequest, type SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import type { BenchServer } from './postgres-server.ts'

const agent = contenderAgent(functionModel([{ text: 1 }]), 1)
const agentNames = ['contender']
const notBefore = 4e15

/** Creates the tables and one run that stays queued for ever. No process claims it, but it can be copied. */
export async function makeTemplate({ url }: BenchServer): Promise<void> {
  const runtime = createRuntime({ agents: [agent], store: postgresStore({ connectionString: url }), timers: false })
  try {
    await runtime.session('template').send('go', { notBefore })
  } finally {
    await runtime.stop()
  }
}

type Columns = Readonly<Record<string, string>>

const createdAt = "(select created_at from bowline.run where session = 'template')"
const key = "'waiting:' || copy"
/** Body of a copy, which can be claimed at once. The ids in it get the number of the copy. */
const body = [
  `replace(body, '"template"', '"waiting:' || copy || '"')`,
  `',"notBefore":${notBefore}', '')`,
  `'"createdAt":' || ${createdAt}, '"createdAt":' || ${createdAt} + copy)`,
].reduce((text, more) => `replace(${text}, ${more}`)
const bodyWithIds = `regexp_replace(${body}, '"((run|session)_[^"]+)"', '"\\1-' || copy || '"', 'g')`

/** Differences between the template and its copy, by table. The first column is the key of the session. */
const differences: Readonly<Record<string, Columns>> = {
  session: { key, start_at: `${createdAt} + copy`, not_before: 'null', body: bodyWithIds },
  run: { session: key, id: "id || '-' || copy", created_at: 'created_at + copy', body: bodyWithIds },
  input: { session: key, run: "run || '-' || copy" },
  event: { session: key, body: bodyWithIds },
}

/** Copies the template directly in the tables, because a `send` for each would take minutes. The copies get these numbers. */
export async function addWaiting(server: BenchServer, from: number, count: number): Promise<void> {
  for (const [table, changed] of Object.entries(differences)) {
    const found = await server.query<{ readonly name: string }>(
      'select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped',
      [`bowline.${table}`],
    )
    const names = found.map(({ name }) => name)
    const columns = names.map((name) => `"${name}"`).join()
    const values = names.map((name) => changed[name] ?? `"${name}"`).join()
    const copies = `generate_series(${from}, ${from + count - 1}) as copy`
    await server.query(
      `insert into bowline.${table} (${columns}) select ${values} from bowline.${table}, ${copies} where "${Object.keys(changed)[0]}" = 'template'`,
    )
  }
  await server.query('vacuum analyze')
  await server.query('checkpoint')
}

export interface Claimer {
  /** Claims up to this number of runs. */
  claim(max: number): Promise<readonly Claim[]>
  /** Ends a claimed run in a separate commit. */
  end(claim: Claim): Promise<void>
  close(): Promise<void>
}

/** Opens a separate store, like another process. */
export async function openClaimer({ url }: Pick<BenchServer, 'url'>, owner = 'bench'): Promise<Claimer> {
  const store: SessionStore = postgresStore({ connectionString: url })
  await store.open({ namespace: 'default', owner, clock: { now: Date.now, setTimer: neverSet } })
  const held = new Set<string>()
  return {
    async claim(max) {
      const request: ClaimRequest = { owner, max, leaseMs: 60_000, agents: agentNames, holds: [...held] }
      const claims = await store.claim(request)
      for (const { run } of claims) held.add(run.id)
      return claims
    },
    async end({ run, session }) {
      const result = await store.commit({
        id: crypto.randomUUID(),
        key: session.key,
        expect: [{ that: 'fence', runId: run.id, epoch: run.epoch }],
        writes: [{ op: 'run.patch', runId: run.id, patch: { status: 'completed' } }],
      })
      if (!result.ok) throw new Error(`A run was not ended: ${result.reason}`)
      held.delete(run.id)
    },
    close: () => store.close(),
  }
}

function neverSet(): never {
  throw new TypeError('A claimer has no timers.')
}
