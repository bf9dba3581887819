import { runtimeParamsSchema } from '@bowline/llm'
import { z } from 'zod'
import { BridgeError } from './errors.ts'

export const idSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/)

/** What a caller may ask for. */
export const delegateInputSchema = z.strictObject({
  prompt: z.string().min(1).describe('What the agent is asked to do.'),
  agentId: idSchema.optional().describe('Which agent. Default: the default agent.'),
  metadata: z.record(z.string(), z.json()).optional().describe('Passed to the agent unchanged.'),
  runtimeParams: runtimeParamsSchema.optional().describe('Model settings for this prompt.'),
  requestId: idSchema.optional().describe('The same id with the same input joins the first call.'),
  timeoutMs: z.int().positive().optional().describe('Limit for the whole delegation.'),
})

export interface InputIssue {
  readonly path: string
  readonly message: string
}

export function invalidInput(issues: readonly InputIssue[]): BridgeError {
  const named = issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return new BridgeError('PROTOCOL', `Invalid input: ${named}`, { details: { issues: issues.map((each) => ({ ...each })) } })
}

/** One issue per field that the schema refused. */
export function issuesOf(error: z.ZodError): readonly InputIssue[] {
  return error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
}
