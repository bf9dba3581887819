export { fileStore } from './stores/file/file-store.ts'
export type { FileStoreOptions } from './stores/file/file-rows.ts'
