export { repairTranscript } from './transcript/repair.ts'
export type { TranscriptRepair } from './transcript/repair.ts'
export type { TranscriptRepairCode } from './transcript/read-message.ts'
