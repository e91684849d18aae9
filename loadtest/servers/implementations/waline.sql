-- Waline's tables for PostgreSQL, which its manual lets its users make by hand.
CREATE TABLE wl_comment (
    id serial PRIMARY KEY,
    user_id int,
    comment text,
    insertedat timestamp(0) DEFAULT CURRENT_TIMESTAMP,
    ip varchar(100) DEFAULT '',
    link varchar(255),
    mail varchar(255),
    nick varchar(255),
    pid int,
    rid int,
    sticky numeric,
    status varchar(50) NOT NULL DEFAULT '',
    "like" int,
    ua text,
    url varchar(255),
    createdat timestamp(0) DEFAULT CURRENT_TIMESTAMP,
    updatedat timestamp(0) DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE wl_users (
    id serial PRIMARY KEY,
    display_name varchar(255) NOT NULL DEFAULT '',
    email varchar(255) NOT NULL DEFAULT '',
    password varchar(255) NOT NULL DEFAULT '',
    type varchar(50) NOT NULL DEFAULT '',
    label varchar(255),
    url varchar(255),
    avatar varchar(255),
    createdat timestamp(0) DEFAULT CURRENT_TIMESTAMP,
    updatedat timestamp(0) DEFAULT CURRENT_TIMESTAMP
);
