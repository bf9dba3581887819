export { recordRequests } from './requests/record-requests.ts'
export type { RecordedRequest, RecordRequestsOptions, RequestRecorder, RequestSummary } from './requests/types.ts'
