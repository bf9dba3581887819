import type { Resolution } from '../session/actions.ts'

export interface RecoveryChoice {
  readonly name: string
  readonly meaning: string
  /** Example of the text for the model. Present if the user must enter one. */
  readonly example?: string
  /** Returns a sentence that states what will be recorded about the tool with this label. */
  record(label: string): string
  resolution(text: string): Resolution
}

export const recoveryChoices: readonly RecoveryChoice[] = [
  {
    name: 'It happened',
    meaning: 'You have seen the effect. The text becomes the result of the tool.',
    example: 'Paid. I have checked the account.',
    record: (label) => `“${label}” succeeded. The model gets this as its result, and goes on as if the tool had said it:`,
    resolution: (text) => ({ result: text }),
  },
  {
    name: 'It failed',
    meaning: 'You have seen that it did not work. The text becomes its error.',
    example: 'The payment did not go through.',
    record: (label) => `“${label}” failed. The model gets this as its error, and may try again:`,
    resolution: (text) => ({ error: text }),
  },
  {
    name: 'Run it again',
    meaning: 'You are sure that nothing happened. The tool starts once more.',
    record: (label) => `Nothing happened. “${label}” starts once more with the arguments above: if it did happen, it happens twice.`,
    resolution: () => ({ runAgain: true }),
  },
  {
    name: 'I do not know',
    meaning: 'The model is told that the outcome is unknown, and goes on from there.',
    record: (label) => `The outcome of “${label}” is unknown. The tool does not start again, and the model is told so.`,
    resolution: () => ({ unknown: true }),
  },
]
