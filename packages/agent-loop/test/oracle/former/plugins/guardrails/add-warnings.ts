import type { ToolOutput } from '@bowline/llm'

/** The output with what guardrails have to say behind it. Cutting a long output keeps its end. */
export function addWarnings(output: ToolOutput, warnings: readonly string[]): ToolOutput {
  if (warnings.length === 0) return output
  const lines = warnings.map((warning) => `Warning: ${warning}`).join('\n')
  const behind = (text: string): string => (text === '' ? lines : `${text}\n\n${lines}`)
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: behind(output.value) }
    case 'json':
      return { type: 'text', value: behind(JSON.stringify(output.value)) }
    case 'error-json':
      return { type: 'error-text', value: behind(JSON.stringify(output.value)) }
    case 'content':
      return { ...output, value: [...output.value, { type: 'text', text: lines }] }
    case 'execution-denied':
      return { ...output, reason: behind(output.reason ?? '') }
    default: {
      const unknown: never = output
      return unknown
    }
  }
}
