export { createClient } from './client.ts'
export type { NoticeList, NoticeView } from './wire-notices.ts'
export type { RequestList, RequestSummary, RequestView } from './wire-requests.ts'
export type { ScheduleList, ScheduleRequest, ScheduleRule, ScheduleView } from './wire-schedules.ts'
export type { Client } from './client.ts'
export type { ClientOptions } from './client-options.ts'
export { ClientError } from './client-error.ts'
export type { ClientErrorCode } from './client-error.ts'
export type { ClientEvent, ResyncNotice, UnknownEvent } from './client-event.ts'
export type { Clock } from './clock.ts'
export type { Connection } from './connection.ts'
export { foldEvent } from './fold-event.ts'
export type { ReconnectOptions } from './patience.ts'
export type { ClientTool, ClientToolContext, ClientTools, InputSchema } from './client-tool.ts'
export type { Acceptance, Run } from './run.ts'
export type { ExecuteResult } from './run-reader.ts'
export type {
  ApproveOptions,
  AttachOptions,
  CallOptions,
  ClientSession,
  InputOptions,
  OverlayOptions,
  PageOptions,
  SendInput,
  SendOptions,
  SessionQuery,
} from './client-session.ts'
export type {
  DeclaredTool,
  ExecuteComplete,
  ExecuteOptions,
  ExecuteRequest,
  HeldRun,
  ImagePart,
  JsonObject,
  JsonValue,
  MessageInput,
  OnBusy,
  Problem,
  RuntimeParams,
  SessionContext,
  ShortDelta,
  StreamEnd,
  StreamError,
  SubmissionReceipt,
  ToolDeclaration,
  ToolResultInput,
  TransportFrame,
  UserInput,
  UserMessageInput,
} from './wire.ts'
export type {
  AgentSummary,
  ApprovalAnswer,
  ApprovalReceipt,
  Branch,
  BranchList,
  CompactionResult,
  ForkRequest,
  Identity,
  InputReceipt,
  RunAhead,
  InputRequest,
  Label,
  LabelList,
  LabelRequest,
  OverlayRequest,
  ResolveRequest,
  Scope,
  SessionList,
  SessionOrigin,
  SessionSummary,
  SessionView,
  Spent,
  StopReceipt,
  StopRequest,
  SwitchRequest,
  TenantSpending,
  Ticket,
  ToolResolution,
} from './wire-sessions.ts'
