import { check, checkItems, checkProviderOptions, checkValues, fieldsOf, optionalFieldsOf } from '../check.ts'
import { checkMessages } from '../check-messages.ts'

export function checkInstructions(path: string, instructions: unknown): void {
  if (instructions === undefined || typeof instructions === 'string') return
  check.checkRequired(path, instructions, 'a text or a list of { text }', Array.isArray)
  checkItems(path, instructions, (place, block) => {
    const { text, providerOptions } = fieldsOf(place, block, ['text', 'providerOptions'])
    check.checkRequired(`${place}.text`, text, 'a text', (given) => typeof given === 'string')
    checkProviderOptions(`${place}.providerOptions`, providerOptions)
  })
}

export function checkHistory(path: string, history: unknown): void {
  const { foreignReasoning, aborted, errored } = optionalFieldsOf(path, history, ['foreignReasoning', 'aborted', 'errored'])
  check.checkOneOf(`${path}.foreignReasoning`, foreignReasoning, ['drop', 'text'])
  check.checkOneOf(`${path}.aborted`, aborted, ['keep', 'drop'])
  check.checkOneOf(`${path}.errored`, errored, ['keep', 'drop'])
}

/** Checks which kinds of files a model accepts. */
export function checkModelInput(path: string, input: unknown): void {
  optionalFieldsOf(path, input, ['image', 'file', 'audio'])
  checkValues(path, input, check.checkBoolean)
}

/** Throws `LlmError` for invalid options of `toPrompt`. */
export function checkToPromptOptions(options: unknown): void {
  const { messages, instructions, model, history } = fieldsOf('toPrompt.options', options, ['messages', 'instructions', 'model', 'history'])
  checkMessages('messages', messages, false)
  checkInstructions('instructions', instructions)
  const { provider, modelId, input } = fieldsOf('model', model, ['provider', 'modelId', 'input'])
  check.checkName('model.provider', provider)
  check.checkName('model.modelId', modelId)
  checkModelInput('model.input', input)
  checkHistory('history', history)
}
