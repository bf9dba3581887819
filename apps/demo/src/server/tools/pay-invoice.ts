import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import { bookEffect } from '../effects.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const delayMs = 4500

/**
 * Pays at once and waits for the confirmation: a crash during the wait leaves the outcome unknown. It has no `reconcile` on
 * purpose, so that a person must decide.
 */
export function payInvoice({ pace, clock, dataFolder }: ToolEnvironment) {
  return defineTool({
    name: 'pay_invoice',
    label: toolLabel('pay_invoice'),
    description: 'Pays an invoice. The money moves when the tool starts.',
    inputSchema: z.object({ invoice: z.string().min(1), amount: z.string().min(1), currency: z.string().length(3) }),
    effect: 'once',
    async execute(input, { idempotencyKey }) {
      await bookEffect(dataFolder, 'payments', { ...input, at: clock.now(), key: idempotencyKey })
      // Ignores the abort signal: the money is on its way, so reporting a failure would be wrong.
      await pace.wait(delayMs)
      return { output: { paid: true, receipt: `R-${input.invoice}` } }
    },
  })
}
