import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import type { checksFor } from '../arguments.ts'
import { noticeTypes } from '../contract/notices.ts'
import type { Webhook } from '../contract/records.ts'

type Checks = ReturnType<typeof checksFor>

const leastSecretLength = 16
const mostSecrets = 4
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
/** Headers that HTTP itself or the signature depends on. */
const ownHeaders = /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|bowline-.*)$/i
const visible = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns the checks of the fields of a webhook. `protocols` are the allowed ones of its URL. */
export function webhookFields(checks: Checks, protocols: readonly string[]): FieldChecks<Webhook> {
  const { checkRequired } = checks
  const secret: ArgumentCheck = (path, value) =>
    checkRequired(
      path,
      value,
      `a text of at least ${leastSecretLength} characters`,
      (text) => typeof text === 'string' && text.length >= leastSecretLength,
    )
  return {
    url: (path, value) =>
      checkRequired(path, value, `an address that begins with ${protocols.join('// or ')}// and has neither user nor password`, (url) =>
        isUrl(url, protocols),
      ),
    events: (path, value) => {
      checkRequired(path, value, `a list of at least one of ${noticeTypes.join(', ')}`, (list) => Array.isArray(list) && list.length > 0)
      checks.listOf(checks.oneOf(...noticeTypes))(path, value)
    },
    secret: (path, value) => {
      if (!Array.isArray(value)) return secret(path, value)
      checkRequired(
        path,
        value,
        `a secret, or a list of 1 to ${mostSecrets} secrets`,
        (list) => (list as unknown[]).length > 0 && (list as unknown[]).length <= mostSecrets,
      )
      for (const [place, each] of value.entries()) secret(`${path}[${place}]`, each)
    },
    headers: (path, value) => {
      checks.checkValues(path, value, (place, text) =>
        checkRequired(place, text, 'a text that is valid in a header', (given) => typeof given === 'string' && visible.test(given)),
      )
      for (const name of Object.keys(value ?? {})) {
        checkRequired(
          `${path}.${name}`,
          name,
          'a header that the runtime does not set itself',
          () => headerName.test(name) && !ownHeaders.test(name),
        )
      }
    },
    retentionMs: checks.whole(1, 365 * 86_400_000),
  }
}

function isUrl(value: unknown, protocols: readonly string[]): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return protocols.includes(protocol) && username === '' && password === ''
}

export const protocolsOf = (http: boolean | undefined): readonly string[] => (http ? ['https:', 'http:'] : ['https:'])
