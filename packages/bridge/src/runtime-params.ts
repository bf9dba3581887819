import { z } from 'zod'

/** Settings of one prompt. Unknown fields are refused; all are optional. */
export const runtimeParamsSchema = z.strictObject({
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.int().min(1).optional(),
  stopSequences: z.array(z.string()).optional(),
  systemPrompt: z.string().optional(),
  reasoning: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
  seed: z.int().optional(),
  providerSpecific: z.record(z.string(), z.json()).optional(),
})

export type RuntimeParams = Readonly<z.infer<typeof runtimeParamsSchema>>
