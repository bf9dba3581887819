import type { Group } from '../codes.ts'
import type { Sign } from './sign.ts'

const requests: readonly Group[] = ['bad-request', 'none']

const broken = (phrase: RegExp, example: string, groups: readonly Group[] = requests): Sign => ({
  kind: 'history-invalid',
  groups,
  phrase,
  example,
})

/** The provider rejects the transcript, so every further call with it would fail too. */
export const brokenHistory: readonly Sign[] = [
  // Calls without results, and results without calls
  broken(
    /tool_use.{0,80}without.{0,20}tool_result/is,
    'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
  ),
  broken(/unexpected `?tool_(?:use_id|result)/i, 'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.'),
  broken(
    /`?tool_result`? block.{0,60}previous message does not contain/is,
    'messages.3: `tool_result` block(s) provided when previous message does not contain any `tool_use` blocks',
  ),
  broken(
    /toolresult blocks at .{0,200}(?:tooluse blocks|following ids)/is,
    'Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1',
  ),
  broken(
    /tool_calls.{0,80}must be followed by tool messages/is,
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  ),
  broken(
    /role '?tool'? must be a response to/i,
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  ),
  broken(/no tool (?:call|output) found/i, 'No tool output found for function call call_1.'),
  broken(
    /function call.{0,60}(?:function response|user turn)|function response parts is equal/is,
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  ),
  broken(/same number of function calls and responses/i, 'Not the same number of function calls and responses'),
  // The order of roles
  broken(
    /roles must alternate|should alternate with assistant/i,
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
  ),
  broken(/unexpected role '?\w+'? after role|expected last role/i, "Unexpected role 'user' after role 'tool'"),
  // Reasoning and its signatures
  broken(
    // Google rejects service account keys with "Invalid JWT Signature".
    /(?:invalid|missing|corrupted).{0,40}(?<!jwt )signature|signature.{0,20}(?:not valid|field required)/is,
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ),
  broken(
    /expected `?thinking`? or `?redacted_thinking|(?:redacted_)?thinking`? blocks.{0,60}cannot be modified/is,
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
  ),
  broken(
    /`?reasoning_content`?.{0,60}must be passed back/is,
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
  ),
  broken(/required 'reasoning' item/i, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
  broken(/without its required following item/i, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
  // OpenAI answers 404 if an item that it should have stored is missing.
  broken(/item with id '?\w+'? not found/i, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", [
    'bad-request',
    'not-found',
    'none',
  ]),
  // Empty texts
  broken(/text content blocks must (?:be non-empty|contain non-whitespace)/i, 'messages: text content blocks must be non-empty'),
  broken(
    /all messages must have non-empty content/i,
    'messages.1: all messages must have non-empty content except for the optional final assistant message',
  ),
  broken(
    /text field in the contentblock .{0,120}is blank/is,
    'The text field in the ContentBlock object at messages.1.content.0 is blank.',
  ),
]
