import { postgresStore } from '@bowline/sessions/postgres'

export const store = postgresStore({
  connectionString: 'postgresql://bowline@pgbouncer:6432/agents', // transaction mode
  directConnectionString: 'postgresql://bowline@db:5432/agents', // two connections for each process
})

export {}
