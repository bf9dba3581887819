import { basename, resolve } from 'node:path'
import type { RedactConfig } from '@bowline/llm'
import type { Auth } from '../auth/auth.ts'
import { isLoopbackHost } from '../http/access.ts'
import { corsFaults, type AgentAccess } from '../options.ts'
import { ConfigError, type Fault } from './config-error.ts'
import type { Given } from './given.ts'
import { findConfigFile, readConfigFile, type FileReading } from './read-file.ts'
import type { Flags } from './read-flags.ts'
import { configVariable, readVariables, type Environment } from './read-variables.ts'
import type { BridgeAgents, ServerConfig } from './server-config.ts'
import { settingKeys, settings, type SettingKey, type SettingValues } from './settings.ts'
import { nameStore, parseStore, type StoreChoice } from './store-choice.ts'

/** Resolved configuration. The value of a key comes from the first source that has one: flag, variable, file, default. */
export interface ResolvedConfig {
  readonly values: SettingValues
  /** Source of a value: a flag, a variable, a file, or `default`. */
  readonly originOf: (key: SettingKey) => string
  readonly file: string | undefined
  /** Absolute path of the module of the agents. */
  readonly agents: string | undefined
  readonly store: StoreChoice
  readonly auth: Auth | undefined
  readonly access: Readonly<Record<string, AgentAccess>>
  readonly bridge: BridgeAgents | undefined
  readonly redact: RedactConfig | undefined
  /** Options of the runtime. */
  readonly webhooks: Partial<Pick<ServerConfig, 'notify' | 'webhooks'>>
}

/** Keys without a default. */
export type Requirable = 'agents' | 'auth'

export type WholeConfig<Key extends Requirable> = ResolvedConfig & { readonly [Name in Key]: NonNullable<ResolvedConfig[Name]> }

export interface Sources<Key extends Requirable> {
  readonly flags: Flags<'config'>
  readonly environment: Environment
  readonly folder: string
  /** Keys that the command requires. */
  readonly required: readonly Key[]
  /** Version of the file, counted when it is read again. Default 0. */
  readonly version?: number
}

/** Resolves the configuration. Throws a `ConfigError` with the faults of all sources. */
export async function resolveConfig<Key extends Requirable>(sources: Sources<Key>): Promise<WholeConfig<Key>> {
  const { flags, environment, folder, required, version = 0 } = sources
  const named = flags.extra.config ?? (environment[configVariable] || undefined)
  const fileOrigin = flags.extra.config === undefined ? configVariable : '--config'
  const variables = readVariables(environment, folder)
  const early = [...flags.faults, ...variables.faults]
  const reading = await collecting(early, async () => {
    return readConfigFile(findConfigFile(folder, named, fileOrigin), version)
  })
  const winners = new Map<SettingKey, Given>([...reading.given, ...variables.given, ...flags.given].map((given) => [given.key, given]))
  const config = resolvedConfig(winners, reading, folder)
  const faults = [...early, ...reading.faults, ...togetherFaults(config)]
  const isSaid = (key: string): boolean => reading.mentions.includes(key) || faults.some(({ path }) => path === key || path === `--${key}`)
  const missing = required.filter((key) => config[key] === undefined && !isSaid(key))
  const all = [...faults, ...missing.map((path) => ({ path, message: howToSet[path] }))]
  if (all.length > 0) throw new ConfigError(all)
  return config as WholeConfig<Key>
}

/** Reports faults of other sources even if the file cannot be read. */
async function collecting(early: readonly Fault[], read: () => Promise<FileReading>): Promise<FileReading> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError([...early, ...error.faults], error.cause)
  }
}

function resolvedConfig(winners: ReadonlyMap<SettingKey, Given>, { file, more }: FileReading, folder: string): ResolvedConfig {
  // Each value has been validated with the schema of its key.
  const values = Object.fromEntries(
    settingKeys.map((key) => [key, winners.get(key)?.value ?? settings[key].default]),
  ) as unknown as SettingValues
  const baseOf = (key: SettingKey): string => winners.get(key)?.base ?? folder
  const { auth, access = {}, bridge, redact, notify, webhooks } = more
  const store = parseStore(values.store, baseOf('store'))
  if (store.kind === 'invalid') throw new TypeError(store.fault)
  const direct = values.directConnectionString
  return {
    values,
    originOf: (key) => winners.get(key)?.origin ?? (key === 'auth' && auth && file ? basename(file) : 'default'),
    file,
    agents: values.agents === undefined ? undefined : resolve(baseOf('agents'), values.agents),
    store: store.kind === 'postgres' && direct !== undefined ? { ...store, directConnectionString: direct } : store,
    auth: values.auth === 'none' ? 'none' : auth,
    access,
    bridge,
    redact,
    webhooks: { ...(notify && { notify }), ...(webhooks && { webhooks }) },
  }
}

/** Returns faults that concern two keys at once. */
function togetherFaults({ values, auth, store, originOf }: ResolvedConfig): readonly Fault[] {
  const faults: Fault[] = []
  if (auth === 'none' && !isLoopbackHost(values.host)) {
    const message = `with auth none every caller could use the server on ${values.host}: use 127.0.0.1, or set tokens`
    faults.push({ path: 'host', origin: originOf('host'), message })
  }
  if (values.directConnectionString !== undefined && store.kind !== 'postgres') {
    const message = `is for a store on Postgres, and the store is ${nameStore(store)}`
    faults.push({ path: 'directConnectionString', origin: originOf('directConnectionString'), message })
  }
  if (values.placement === 'restate' && store.kind !== 'postgres') {
    const message = `restate moves sessions between servers, so they need a store on Postgres, and the store is ${nameStore(store)}`
    faults.push({ path: 'placement', origin: originOf('placement'), message })
  }
  const cors = { origins: values['cors.origins'], credentials: values['cors.credentials'] }
  const ofCors = corsFaults(cors, auth === 'none').map((message) => ({ path: 'cors.origins', origin: originOf('cors.origins'), message }))
  return [...faults, ...ofCors]
}

const howToSet = {
  agents: 'is required: name the module with --agents, BOWLINE_AGENTS or agents in bowline.config.ts',
  auth:
    'is required: make a token with "bowline-server token create" and put its line ' +
    'into auth.tokens of bowline.config.ts, or use --auth none on this machine alone',
}
