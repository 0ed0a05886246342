-- What is asked of an observation by name: a column instead of a search in the text of its JSON.
-- They are computed from the provenance, so that there is no second copy to write, share or erase.
ALTER TABLE observations ADD COLUMN role AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.role') END);
ALTER TABLE observations ADD COLUMN event AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.event') END);
ALTER TABLE observations ADD COLUMN command AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.command') END);
ALTER TABLE observations ADD COLUMN exit_code AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.exitCode') END);
ALTER TABLE observations ADD COLUMN has_error AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.hasError') END);
ALTER TABLE observations ADD COLUMN interrupted AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.interrupted') END);
