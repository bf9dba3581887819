import { isOptionalText } from '../content-part.ts'
import { isRecord } from '../json.ts'
import type { ApprovalDecision, SubmittedResult } from './options.ts'
import { refuseInput } from './refuse-input.ts'

/** Answers to a suspended turn: results, decisions or both. Throws `invalid-input`. */
export function answersOf(given: Record<string, unknown>): {
  readonly results: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
} {
  const unknown = Object.keys(given).find((key) => key !== 'toolResults' && key !== 'approvals')
  if (unknown !== undefined) refuseInput(`answers have no field "${unknown}"`)
  const results = listOf('toolResults', given['toolResults'], isResult)
  const approvals = listOf('approvals', given['approvals'], isDecision)
  if (results.length + approvals.length === 0) refuseInput('answers need at least one result or decision')
  return { results, approvals }
}

function listOf<Entry>(name: string, given: unknown, isEntry: (entry: unknown) => entry is Entry): readonly Entry[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) return refuseInput(`${name} must be a list`)
  return given.map((entry: unknown, index) => (isEntry(entry) ? entry : refuseInput(`${name}[${index}] is not valid`)))
}

const resultForms: Readonly<Record<string, readonly string[]>> = {
  output: ['output', 'details', 'isError'],
  error: ['error'],
  unknown: ['unknown'],
}

/** In exactly one form, with the fields of that form. */
function isResult(entry: unknown): entry is SubmittedResult {
  if (!isRecord(entry) || typeof entry['toolCallId'] !== 'string' || !isPath(entry['path'])) return false
  const forms = Object.keys(resultForms).filter((form) => form in entry)
  const [form = ''] = forms
  if (forms.length !== 1 || !hasOnly(entry, ['toolCallId', 'path', ...(resultForms[form] ?? [])])) return false
  if (form === 'error') return typeof entry['error'] === 'string'
  if (form === 'unknown') return entry['unknown'] === true
  return entry['isError'] === undefined || typeof entry['isError'] === 'boolean'
}

function isDecision(entry: unknown): entry is ApprovalDecision {
  if (!isRecord(entry) || typeof entry['approvalId'] !== 'string') return false
  const { decision, inputHash, reason, by } = entry
  if (![inputHash, reason, by].every(isOptionalText)) return false
  const fields = ['approvalId', 'decision', 'inputHash', 'reason', 'by']
  if (decision === 'approve') return hasOnly(entry, [...fields, 'input'])
  return decision === 'deny' && hasOnly(entry, fields)
}

function hasOnly(entry: object, fields: readonly string[]): boolean {
  return Object.keys(entry).every((key) => fields.includes(key))
}

function isPath(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
}
