import { nameAddress, nameStore } from '../config/store-choice.ts'
import { settingKeys } from '../config/settings.ts'
import type { ResolvedConfig } from '../config/resolve-config.ts'
import type { StoreChoice } from '../config/store-choice.ts'
import type { Agent } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { CommandCall, Outcome } from './command.ts'
import { loadMcpSdk } from './create-bridge.ts'
import { loadPostgres } from './create-store.ts'
import { columns, textOf } from './help.ts'
import { configuredAgents } from './load-agents.ts'
import { readConfig } from './read-config.ts'

export async function check(call: CommandCall): Promise<Outcome> {
  const config = await readConfig(call, ['agents', 'auth'])
  const agents = await configuredAgents(config)
  if (config.bridge) await loadMcpSdk()
  await call.print(columns([...describeConfig(config, agents), ...(await describeDatabase(config.store))]).join('\n'))
  return 'done'
}

const msPerSecond = 1000

type Row = readonly [key: string, value: string, origin: string]

/** Returns the configuration in rows, without secrets: of a token it shows only the owner. */
function describeConfig(config: ResolvedConfig, agents: readonly Agent[]): readonly Row[] {
  const direct = config.values.directConnectionString
  const special: Readonly<Partial<Record<string, string>>> = {
    agents: `${config.agents} (${agents.map(({ name }) => name).join(', ')})`,
    store: nameStore(config.store),
    auth: describeAuth(config),
    ...(direct !== undefined && { directConnectionString: nameAddress(direct) }),
  }
  return [
    ['config', config.file ?? 'no file', ''],
    ...settingKeys.map((key): Row => [key, special[key] ?? textOf(config.values[key]), config.originOf(key)]),
    ['bridge', config.bridge?.agents.join(', ') ?? 'none', ''],
    ['access', Object.keys(config.access).join(', ') || 'the defaults', ''],
  ]
}

/** Returns facts about a database that several servers share. Reads only, and fails if the server could not start on it. */
async function describeDatabase(store: StoreChoice): Promise<readonly Row[]> {
  if (store.kind !== 'postgres') return []
  const { postgresStore } = await loadPostgres()
  const warnings: string[] = []
  const database = postgresStore({
    connectionString: store.connectionString,
    migrate: false,
    listen: false,
    poolSize: 1,
    onWarning: (message) => warnings.push(message),
  })
  await database.open({ namespace: 'default', owner: 'check', clock: systemClock })
  try {
    const { processes, waiting, oldestWaitMs, warnings: found } = await database.check()
    const oldest = oldestWaitMs === undefined ? '' : `, the oldest for ${Math.round(oldestWaitMs / msPerSecond)} s`
    return [
      ['database', `${processes} servers, ${waiting} runs wait${oldest}`, ''],
      ...[...warnings, ...found.map(({ message }) => message)].map((message): Row => ['warning', message, '']),
    ]
  } finally {
    await database.close()
  }
}

function describeAuth({ auth }: ResolvedConfig): string {
  if (auth === undefined || typeof auth === 'string') return auth ?? ''
  if (typeof auth === 'function') return 'a function'
  const { tokens = [], jwt } = auth
  const known = tokens.map(({ id, tenant, disabled }) => `${id} (${tenant}${disabled ? ', disabled' : ''})`)
  return [...(known.length > 0 ? [`tokens ${known.join(', ')}`] : []), ...(jwt ? [`jwt of ${jwt.issuer}`] : [])].join('; ')
}
