import type { JSONValue } from '@bowline/llm'
import type { AgentEvent } from './agent-event.ts'
import type { ToolExecutionEndEvent, ToolExecutionStartEvent, ToolResult } from './tool-events.ts'

/** Input and output of each tool by its name, as the log holds them. An index signature means that the tools are not known. */
export interface ToolTypes {
  readonly [name: string]: { readonly input: unknown; readonly output: unknown }
}

declare const otherName: unique symbol

/**
 * The name of a tool whose types are not known, for example of a subagent or an extension. At run time it is a text like any
 * other. The compiler treats it as different from each known name, so that a comparison with a known name narrows.
 */
export type OtherToolName = `delegate_to_${string}` | ('another tool' & { readonly [otherName]: true })

type StartOf<Types extends ToolTypes> =
  | ToolExecutionStartEvent<OtherToolName>
  | { readonly [Name in keyof Types & string]: ToolExecutionStartEvent<Name, Types[Name]['input']> }[keyof Types & string]

type EndOf<Types extends ToolTypes> =
  | ToolExecutionEndEvent<OtherToolName>
  | { readonly [Name in keyof Types & string]: ToolExecutionEndEvent<Name, Types[Name]['output']> }[keyof Types & string]

type ResultOf<Types extends ToolTypes> =
  | ToolResult<OtherToolName>
  | { readonly [Name in keyof Types & string]: ToolResult<Name, Types[Name]['output']> }[keyof Types & string]

/** The types that the tools of an agent give to the events and results of its runs. */
export interface RunTypes {
  readonly event: AgentEvent
  readonly toolResult: ToolResult
  /** Type of the final answer, with an output schema. */
  readonly output: unknown
}

/** The `RunTypes` of an agent with these tools. If the tools are not known, those of any agent. */
export type RunTypesOf<Types extends ToolTypes, Output> = string extends keyof Types
  ? { readonly event: AgentEvent; readonly toolResult: ToolResult; readonly output: Output }
  : {
      readonly event: Exclude<AgentEvent, ToolExecutionStartEvent | ToolExecutionEndEvent> | StartOf<Types> | EndOf<Types>
      readonly toolResult: ResultOf<Types>
      readonly output: Output
    }

/** The type of a value after it was written as JSON and read again, as it is in the log, in a browser and for a model. */
export type InJson<Value> = unknown extends Value
  ? JSONValue
  : Value extends JSONValue | undefined
    ? Value
    : Value extends { toJSON(): infer Written }
      ? InJson<Written>
      : Value extends (...parameters: never) => unknown
        ? never
        : Value extends object
          ? { [Key in keyof Value]: InJson<Value[Key]> }
          : JSONValue
