export type {
  JSONSchema7,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
export type { FlexibleSchema } from 'ai'
export { holdingClock, systemClock } from './clock.ts'
export type { Clock, TimerOptions } from './clock.ts'
export { classifyError } from './errors/classify.ts'
export type { ErrorContext } from './errors/classify.ts'
export type { BlockEvent, MessageEvent, WholePart } from './events.ts'
export type {
  ApprovalRequestPart,
  AssistantFilePart,
  AssistantMessage,
  AssistantPart,
  AssistantTextPart,
  ContentItem,
  ContentPart,
  Cost,
  CustomPart,
  FileData,
  FilePart,
  ImagePart,
  JSONObject,
  JSONValue,
  Message,
  ProviderMetadata,
  ProviderOptions,
  ProviderToolResultPart,
  Repair,
  RepairCode,
  SourcePart,
  StopReason,
  TextPart,
  ToolCallPart,
  ToolOutput,
  ToolResultMessage,
  Usage,
  UserMessage,
  Warning,
} from './messages.ts'
export { LlmError } from './model-error.ts'
export type { ErrorKind, ModelError } from './model-error.ts'
export type { FunctionTool, JsonOutput, ModelRequest, SentRequest, Timeouts, ToolChoice } from './model-request.ts'
export { createModels } from './models/models.ts'
export type { Models, ModelsOptions } from './models/models.ts'
export type { AnyLanguageModel } from './models/language-model.ts'
export type { Decimal, ModelInfo, ModelPrice, PriceTier, TokenPrices } from './model-info.ts'
export type { ModelRef } from './models/model-ref.ts'
export type { ProviderEntry, ProviderLike, ProviderSettings } from './models/providers.ts'
export type { ResolvedModel } from './models/resolved-model.ts'
export { mergeRuntimeParams, runtimeParamsSchema } from './params/runtime-params.ts'
export type { RuntimeParams } from './params/runtime-params.ts'
export type { CacheMarks, CachePlace, LastingPart } from './prompt/cache-marks.ts'
export type { Download } from './prompt/downloads.ts'
export { fromModelMessages } from './prompt/from-model-messages.ts'
export type { FromModelMessagesOptions } from './prompt/from-model-messages.ts'
export type { HistoryOptions, Instructions, ToPromptOptions } from './prompt/options.ts'
export { toPrompt } from './prompt/to-prompt.ts'
export { createRedaction } from './redact.ts'
export type { RedactConfig, Redaction } from './redact.ts'
export { describeModel } from './stream/describe-model.ts'
export type { ModelDescription } from './stream/describe-model.ts'
export { readEvents } from './stream/read-events.ts'
export { streamMessage } from './stream/stream-message.ts'
export type { MessageStream } from './stream/stream-message.ts'
export type { CallReport, CallResult } from './telemetry/channel.ts'
export type { TelemetryOptions } from './telemetry/telemetry-options.ts'
export { checkInputSchema } from './tools/check-schema.ts'
export { findSchemaFault } from './tools/schema-fault.ts'
export type { SchemaFault } from './tools/schema-fault.ts'
export { jsonSchemaOf, resolveSchema, validateWith } from './tools/tool-schema.ts'
export type { SchemaIssue, SchemaResult } from './tools/schema-result.ts'
export type { ToolSchema } from './tools/tool-schema.ts'
export { addCost, costOf, costToNumber } from './usage/cost.ts'
export { addUsage } from './usage/usage.ts'
