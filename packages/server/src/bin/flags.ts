import { scopes } from '../auth/principal.ts'
import type { CommandFlag } from './command.ts'

export const configFlag = {
  config: { type: 'string', placeholder: 'FILE', about: 'The file; default: bowline.config.ts, .mjs, .js or .json in this folder' },
} as const satisfies Readonly<Record<string, CommandFlag>>

export const logFlags = {
  ...configFlag,
  json: { type: 'boolean', about: 'Print one line of JSON: what runtime.inspect gives' },
} as const satisfies Readonly<Record<string, CommandFlag>>

export const tokenFlags = {
  tenant: { type: 'string', placeholder: 'T', about: 'Whose sessions it reaches' },
  scopes: { type: 'string', placeholder: 'A,B', about: `What it may do: ${scopes.join(', ')}` },
  expires: { type: 'string', placeholder: '90d', about: 'How long it lives: 30m, 12h, 90d or 4w' },
  id: { type: 'string', placeholder: 'ID', about: 'Names it in logs; letters, digits and hyphens. Default: a random one' },
} as const satisfies Readonly<Record<string, CommandFlag>>
