import { randomBytes } from 'node:crypto'
import { suggestion } from '@bowline/llm/arguments'
import { isScope, isTenant, scopes } from '../auth/principal.ts'
import { createToken } from '../auth/token.ts'
import { ConfigError, type Fault } from '../config/config-error.ts'
import type { CommandCall, Outcome } from './command.ts'
import { tokenFlags } from './flags.ts'
import { readOwnFlags } from './read-config.ts'

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const idBytes = 6

export async function createTokenLine(call: CommandCall): Promise<Outcome> {
  const given = readOwnFlags(call, tokenFlags)
  const { token, config } = await createToken(checked(given, Date.now()))
  await call.tell('The token. It is shown this once and stored nowhere:')
  await call.print(token)
  await call.tell('The line for auth.tokens of the configuration file:')
  await call.print(JSON.stringify(config))
  return 'done'
}

type Given = Readonly<Partial<Record<keyof typeof tokenFlags, string>>>

function checked({ tenant, scopes: list, expires, id }: Given, now: number): Parameters<typeof createToken>[0] {
  const wanted = (list ?? '')
    .split(',')
    .map((scope) => scope.trim())
    .filter((scope) => scope !== '')
  const lifeMs = expires === undefined ? undefined : durationOf(expires)
  const faults: Fault[] = [
    ...(isTenant(tenant)
      ? []
      : [
          {
            path: '--tenant',
            message: `${tenant === undefined ? 'is required' : 'may have only'}: letters, digits and _ . @ -, at most 64`,
          },
        ]),
    ...(wanted.length > 0 ? [] : [{ path: '--scopes', message: `is required: some of ${scopes.join(', ')}` }]),
    ...wanted
      .filter((scope) => !isScope(scope))
      .map((scope) => ({
        path: '--scopes',
        message: `there is no scope ${scope}${suggestion(scope, scopes)}`,
      })),
    ...(lifeMs === null ? [{ path: '--expires', message: 'must be like 30m, 12h, 90d or 4w' }] : []),
    ...(id === undefined || /^[A-Za-z0-9-]{1,64}$/.test(id)
      ? []
      : [{ path: '--id', message: 'takes letters, digits and hyphens, at most 64' }]),
  ]
  if (faults.length > 0 || tenant === undefined) throw new ConfigError(faults)
  return {
    id: id ?? randomBytes(idBytes).toString('hex'),
    tenant,
    scopes: wanted.filter(isScope),
    ...(typeof lifeMs === 'number' && { expiresAt: new Date(now + lifeMs).toISOString() }),
  }
}

/** Returns the duration in ms. Returns null if the text is not a duration, or if it exceeds the range of dates. */
function durationOf(text: string): number | null {
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhdw])$/.exec(text) ?? []
  return count === undefined ? null : Number(count) * (unitMs[unit] ?? 0)
}
