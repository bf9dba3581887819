import { z } from 'zod'
import { suggestion } from '@bowline/llm/arguments'
import { startAuthFaults, type Auth, type AuthConfig } from '../auth/auth.ts'
import { scopes } from '../auth/principal.ts'
import type { AgentAccess } from '../options.ts'
import { optional } from '../wire/optional.ts'
import { sameAs } from '../wire/same.ts'
import type { Fault } from './config-error.ts'
import { webhookSchemas } from './webhook-schemas.ts'
import type { BridgeAgents, ServerConfig } from './server-config.ts'
import { settingKeys, settings, splitKey } from './settings.ts'

const token = z.strictObject({
  id: z.string(),
  hash: z.templateLiteral(['sha256:', z.string()]),
  tenant: z.string(),
  scopes: z.array(z.enum(scopes)),
  expiresAt: optional(z.string()),
  disabled: optional(z.boolean()),
})

const jwt = z.strictObject({
  jwksUrl: optional(z.string()),
  secret: optional(z.string()),
  issuer: z.string(),
  audience: z.string(),
  tenantClaim: optional(z.string()),
  scopeClaim: optional(z.string()),
  algorithms: optional(z.array(z.string())),
})

const authConfig = sameAs<AuthConfig>()(z.strictObject({ tokens: optional(z.array(token)), jwt: optional(jwt) }))

/** Reports each fault by itself, and not only that no variant of a union matches. */
const auth = z.unknown().superRefine((value, context) => {
  if (value === 'none' || typeof value === 'function') return
  const result = authConfig.safeParse(value)
  if (!result.success) return result.error.issues.forEach((issue) => context.addIssue({ ...issue }))
  startAuthFaults(result.data).forEach((fault) => context.addIssue(fault))
}) as z.ZodType<Auth>

const agentAccess = sameAs<AgentAccess>()(
  z.strictObject({
    description: optional(z.string()),
    capabilities: optional(z.array(z.string())),
    clientTools: optional(z.enum(['none', 'declared', 'any'])),
    models: optional(z.array(z.string())),
    runtimeParams: optional(z.array(z.string())),
    clientHistory: optional(z.boolean()),
    clientOutput: optional(z.boolean()),
    onBusy: optional(z.array(z.enum(['queue', 'steer', 'interrupt', 'reject']))),
  }),
)

const bridge = sameAs<BridgeAgents>()(
  z
    .strictObject({ agents: z.array(z.string()).min(1, 'must name at least one agent'), defaultAgent: optional(z.string()) })
    .superRefine(({ agents, defaultAgent }, context) => {
      const twice = agents.find((name, index) => agents.indexOf(name) < index)
      if (twice !== undefined) context.addIssue({ code: 'custom', path: ['agents'], message: `names ${twice} twice` })
      if (defaultAgent === undefined || agents.includes(defaultAgent)) return
      context.addIssue({ code: 'custom', path: ['defaultAgent'], message: `is ${defaultAgent}, which is not one of bridge.agents` })
    }),
)

const isPattern = (value: unknown): boolean => value instanceof RegExp

const redact = z.strictObject({
  fields: optional(z.array(z.string())),
  patterns: optional(
    z.array(
      z.custom<RegExp | readonly [RegExp, string]>(
        (value) => isPattern(value) || (Array.isArray(value) && isPattern(value[0]) && typeof value[1] === 'string'),
        'must be a regular expression, or one and the text in its place',
      ),
    ),
  ),
})

/** Schema of the keys as a file holds them, with a larger `auth` and with keys that only a file can have. */
const fileSchema = z.strictObject({
  ...sectionSchemas(),
  auth: optional(auth),
  access: optional(z.record(z.string(), agentAccess)),
  bridge: optional(bridge),
  redact: optional(redact),
  ...webhookSchemas,
})

export type FileCheck = { readonly config: ServerConfig } | { readonly faults: readonly Fault[] }

/** Checks the content of a file. Returns all faults, each with its path. */
export function checkFile(content: unknown, origin: string): FileCheck {
  const result = fileSchema.safeParse(content)
  if (result.success) return { config: result.data }
  return { faults: result.error.issues.flatMap((issue) => faultsOf(issue, origin)) }
}

function sectionSchemas(): Record<string, z.ZodType> {
  const top: Record<string, z.ZodType> = {}
  const sections: Record<string, Record<string, z.ZodType>> = {}
  for (const key of settingKeys) {
    const [section, name] = splitKey(key)
    const keys = section === undefined ? top : (sections[section] ??= {})
    keys[name] = optional(settings[key].schema)
  }
  const sectionSchema = ([name, shape]: [string, Record<string, z.ZodType>]) => [name, optional(z.strictObject(shape))] as const
  return { ...top, ...Object.fromEntries(Object.entries(sections).map(sectionSchema)) }
}

function faultsOf(issue: z.core.$ZodIssue, origin: string): readonly Fault[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.') || 'the file', origin, message: issue.message }]
  return issue.keys.map((key) => {
    const whole = [...path, key].join('.')
    return { path: whole, origin, message: `there is no such key${suggestion(whole, knownKeys)}` }
  })
}

const knownKeys: readonly string[] = [...settingKeys, 'access', 'bridge', 'redact', 'notify', 'webhooks']
