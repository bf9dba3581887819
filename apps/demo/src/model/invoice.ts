import { fieldsOf, reasonOf, textIn } from './intent.ts'
import type { Intent, ToolAnswer } from './intent.ts'

export const invoice: Intent = {
  name: 'invoice',
  keyWords: /\b(pay|invoice)\b/i,
  answer({ results }) {
    const result = results.at(-1)
    if (!result) {
      return [
        { type: 'text', text: 'I pay invoice 2041 now. Money moves once, so this tool is never simply run again.' },
        { type: 'call', toolName: 'pay_invoice', input: { invoice: '2041', amount: '120.00', currency: 'EUR' } },
      ]
    }
    return [{ type: 'text', text: describe(result) }]
  },
}

function describe(result: ToolAnswer): string {
  if (result.outcome === 'result') return `Invoice 2041 is **paid**.${receiptOf(result.value)}`
  if (result.outcome === 'denied') return 'Invoice 2041 was **not paid**: the payment was not allowed.'
  return `I cannot say that invoice 2041 is paid. What I was told: ${reasonOf(result)}`
}

function receiptOf(value: unknown): string {
  const receipt = textIn(fieldsOf(value)['receipt'])
  return receipt && ` The receipt is \`${receipt}\`.`
}
