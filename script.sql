.load ./bloom
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'urlhaus.txt', bloom_agg(key, NULL, 0.001, 'key=url_nocase')
    FROM bloom_list(readfile('sql/data/urlhaus.txt'))
   WHERE key NOT NULL;

CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES
  ('HTTP://1.1.104.120/'),
  ('http://mail3.example:8080/item/5?id=360d5a3f&from=mail'),
  ('https://github.com:8443/rouki555/lnk/raw/refs/heads/main/ud.bat#part'),
  ('http://github.com.other1.example/github.co'),
  ('27.219.136.4./'),
  ('https://www.news1.example:8080/item/4'),
  ('http://user:secret@img1.wsimg.com/x/./../blobby/go/f7748e26-2d27-4aa6-89fb-b263de90f421/downloads/dollar_general_cbl_answers_robbery_prevention.pdf'),
  ('http://blog2.example/item/4'),
  ('  	http://github.com/bin49/gym-management-system-/releases/download/v1.0/software.zip '),
  ('https://www.mail3.example:8080/item/4'),
  ('https://139.255.123.227/'),
  ('https://www.shop0.example/Photos/3');
SELECT url FROM visits
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'urlhaus.txt'), url);
